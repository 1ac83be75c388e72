package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
)

func TestAQuantileIsASampleThatThatManyAreNotAbove(t *testing.T) {
	var s samples
	for i := range 100 {
		s = append(s, time.Duration(100-i)*time.Millisecond)
	}
	for q, want := range map[float64]int{0.01: 1, 0.1: 10, 0.5: 50, 0.99: 99, 1: 100} {
		require.Equal(t, time.Duration(want)*time.Millisecond, s.quantile(q), "%v", q)
	}
	require.Equal(t, spread{N: 100, P10: 10, P50: 50, P99: 99, Mean: 50.5}, s.spread())
	require.Zero(t, samples(nil).spread())
}

func TestRatesAreOfAllRoundsTogether(t *testing.T) {
	m := &throughput{}
	m.Bare.add(time.Second, make(samples, 200))
	m.Bare.add(3*time.Second, make(samples, 200))
	m.Ours.add(2*time.Second, make(samples, 160))
	m.finish()
	require.InDelta(t, 100, m.Bare.PerSecond, 1e-9)
	require.InDelta(t, 80, m.Ours.PerSecond, 1e-9)
	require.InDelta(t, 0.8, m.Ratio, 1e-9)
}

func TestTheMeasuredProcessesAreValid(t *testing.T) {
	for _, source := range []string{sequence(), parallel()} {
		p, issues := process.Parse([]byte(source))
		require.Empty(t, issues)
		require.NotNil(t, p)
	}
}

func TestATargetThatIsMissedIsShownAsMissed(t *testing.T) {
	r := &report{
		History: history{PerWrite: 5.9},
		Latency: &latency{Claim: compared{Ratio: 1.3, Ratios: []float64{1}}, Submit: compared{Ratio: 1.31, Ratios: []float64{1}}},
		Work:    []workSize{{Steps: 1000, Relative: 1}, {Steps: 100_000, Relative: 2.5}},
	}
	r.Targets = r.targets()
	met := map[string]bool{}
	for _, g := range r.Targets {
		met[g.Name] = g.Met
	}
	require.Equal(t, map[string]bool{
		"claim p50 / bare update p50":               true,
		"submit p50 / bare update p50":              false,
		"history events a write":                    true,
		"activities before the last write of a run": true,
		"get_work p99 at 100000 steps / at 1000":    false,
	}, met)
	var out bytes.Buffer
	r.print(&out)
	require.Contains(t, out.String(), "✗")
}
