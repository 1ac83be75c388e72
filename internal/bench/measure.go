package main

import (
	"context"
	"fmt"
	"runtime"
)

// report is everything that is told of one run of the benchmark.
type report struct {
	Go         string      `json:"go"`
	CPUs       int         `json:"cpus"`
	Took       string      `json:"took"`
	Plan       plan        `json:"plan"`
	History    history     `json:"history"`
	Latency    *latency    `json:"latency,omitempty"`
	Throughput *throughput `json:"throughput,omitempty"`
	Contention *throughput `json:"contention,omitempty"`
	Work       []workSize  `json:"getWork,omitempty"`
	Targets    []target    `json:"targets"`
}

// measure measures one thing after the other.
func measure(ctx context.Context, s *stack, p plan, f flags) (r *report, err error) {
	r = &report{Go: runtime.Version(), CPUs: runtime.NumCPU(), Plan: p}
	for name, source := range map[string]string{sequenceName: sequence(), parallelName: parallel()} {
		if err := s.publish(ctx, org, name, source); err != nil {
			return nil, err
		}
	}
	caller, err := s.as(agent(org))
	if err != nil {
		return nil, err
	}
	w := &writes{stack: s, caller: caller}
	progress("measuring one run, for the size of its payloads and its history")
	if r.History, err = w.history(ctx); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	w.sizes = r.History.Sizes
	stopProfiles, err := startProfiles(f.profile)
	if err != nil {
		return nil, err
	}
	if f.has("latency") {
		progress("measuring latency at one caller")
		if r.Latency, err = w.latency(ctx, p.LatencyRounds); err != nil {
			return nil, fmt.Errorf("latency: %w", err)
		}
	}
	if f.has("throughput") {
		progress("measuring throughput at %d callers", callersAtOnce)
		if r.Throughput, err = w.throughput(ctx, p.ThroughputRounds, p.Throughput); err != nil {
			return nil, fmt.Errorf("throughput: %w", err)
		}
	}
	if f.has("contention") {
		progress("measuring %d callers on one run", branches)
		if r.Contention, err = w.contention(ctx, p.ContentionRounds); err != nil {
			return nil, fmt.Errorf("contention: %w", err)
		}
	}
	if err := stopProfiles(); err != nil {
		return nil, err
	}
	if f.has("work") {
		if r.Work, err = measureWork(ctx, s, p); err != nil {
			return nil, fmt.Errorf("get_work: %w", err)
		}
	}
	r.Targets = r.targets()
	return r, nil
}

// target is what a figure is held against.
type target struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// AtMost says on which side of Limit the value has to be.
	AtMost bool    `json:"atMost"`
	Limit  float64 `json:"limit"`
	Met    bool    `json:"met"`
}

func atMost(name string, value, limit float64) target {
	return target{Name: name, Value: value, AtMost: true, Limit: limit, Met: value <= limit}
}

func (r *report) targets() (all []target) {
	if l := r.Latency; l != nil {
		all = append(all,
			atMost("claim p50 / bare update p50", l.Claim.Ratio, 1.3),
			atMost("submit p50 / bare update p50", l.Submit.Ratio, 1.3))
	}
	if t := r.Throughput; t != nil {
		all = append(all, target{Name: "claim and submit per second / bare updates per second", Value: t.Ratio, Limit: 0.8, Met: t.Ratio >= 0.8})
	}
	all = append(all,
		atMost("history events a write", r.History.PerWrite, 6),
		atMost("activities before the last write of a run", float64(r.History.EarlyActivities), 0))
	if n := len(r.Work); n > 1 {
		last := r.Work[n-1]
		all = append(all, atMost(fmt.Sprintf("get_work p99 at %d steps / at %d", last.Steps, r.Work[0].Steps), last.Relative, 2))
	}
	return all
}
