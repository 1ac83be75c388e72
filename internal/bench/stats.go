package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// samples are durations of one thing.
type samples []time.Duration

// quantile is the smallest sample that at least the share q of all are not
// above; zero where there is none.
func (s samples) quantile(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Clone(s)
	slices.Sort(sorted)
	i := int(q*float64(len(sorted))+0.9999999) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

func (s samples) mean() time.Duration {
	if len(s) == 0 {
		return 0
	}
	var sum time.Duration
	for _, d := range s {
		sum += d
	}
	return sum / time.Duration(len(s))
}

// spread is what is told of samples, in milliseconds.
type spread struct {
	N    int     `json:"n"`
	P10  float64 `json:"p10ms"`
	P50  float64 `json:"p50ms"`
	P99  float64 `json:"p99ms"`
	Mean float64 `json:"meanMs"`
}

func (s samples) spread() spread {
	return spread{N: len(s), P10: ms(s.quantile(0.1)), P50: ms(s.quantile(0.5)), P99: ms(s.quantile(0.99)), Mean: ms(s.mean())}
}

func ms(d time.Duration) float64 { return rounded(float64(d) / float64(time.Millisecond)) }

// rounded to thousandths, which is finer than anything measured here.
func rounded(f float64) float64 { return float64(int64(f*1000+0.5)) / 1000 }

// ratio is a over b; zero where b is.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return rounded(a / b)
}

// stages collects what the server tells of the stages of its writes.
type stages struct {
	mu   sync.Mutex
	took map[stageKey]samples
}

type stageKey struct{ tool, stage string }

func newStages() *stages { return &stages{took: map[stageKey]samples{}} }

func (s *stages) observe(_ context.Context, tool, stage string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := stageKey{tool, stage}
	s.took[k] = append(s.took[k], took)
}

// take returns what was collected since the last time.
func (s *stages) take() map[stageKey]samples {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := s.took
	s.took = map[stageKey]samples{}
	return took
}
