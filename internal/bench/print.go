package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// print prints the report as tables.
func (r *report) print(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(t, format+"\t\n", args...) }
	end := func() { _ = t.Flush(); _, _ = fmt.Fprintln(out) }
	_, _ = fmt.Fprintf(out, "\n%d CPUs, %s, %s\n\n", r.CPUs, r.Go, r.Took)
	if l := r.Latency; l != nil {
		line("one caller\tn\tbare p10\tp50\tp99\tours p10\tp50\tp99\tp50 ratio\tof rounds")
		for name, c := range l.each {
			line("%s\t%d\t%.1f ms\t%.1f ms\t%.1f ms\t%.1f ms\t%.1f ms\t%.1f ms\t%.2f\t%.2f–%.2f", name, c.Ours.N,
				c.Bare.P10, c.Bare.P50, c.Bare.P99, c.Ours.P10, c.Ours.P50, c.Ours.P99, c.Ratio, slices.Min(c.Ratios), slices.Max(c.Ratios))
		}
		end()
		line("stages of a write\tclaim p10\tp50\tp99\tmean\tsubmit p10\tp50\tp99\tmean")
		for i, c := range l.Claim.Stages {
			s := l.Submit.Stages[i]
			if c.Name == outside {
				line("%s\t\t\t\t%.2f ms\t\t\t\t%.2f ms", c.Name, c.Mean, s.Mean)
				continue
			}
			line("%s\t%.2f ms\t%.2f ms\t%.2f ms\t%.2f ms\t%.2f ms\t%.2f ms\t%.2f ms\t%.2f ms", c.Name, c.P10, c.P50, c.P99, c.Mean, s.P10, s.P50, s.P99, s.Mean)
		}
		end()
	}
	if r.Throughput != nil || r.Contention != nil {
		line("writes per second\tcallers\tbare\tp50\tours\tp50\tratio\tof rounds")
		for _, row := range []struct {
			name string
			t    *throughput
		}{{"own runs", r.Throughput}, {"one run", r.Contention}} {
			if m := row.t; m != nil {
				line("%s\t%d\t%.0f\t%.0f ms\t%.0f\t%.0f ms\t%.2f\t%.2f–%.2f", row.name, m.Callers, m.Bare.PerSecond, m.Bare.P50,
					m.Ours.PerSecond, m.Ours.P50, m.Ratio, slices.Min(m.Ratios), slices.Max(m.Ratios))
			}
		}
		end()
	}
	if len(r.Work) > 0 {
		line("get_work, ready steps\tn\tp50\tp99\tp99 ratio")
		for _, w := range r.Work {
			line("%d\t%d\t%.1f ms\t%.1f ms\t%.2f", w.Steps, w.N, w.P50, w.P99, w.Relative)
		}
		end()
	}
	line("target\tmeasured\tlimit\t")
	for _, g := range r.Targets {
		sign, met := "≥", "✗"
		if g.AtMost {
			sign = "≤"
		}
		if g.Met {
			met = "✓"
		}
		line("%s\t%.2f\t%s %.1f\t%s", g.Name, g.Value, sign, g.Limit, met)
	}
	end()
}

func (l *latency) each(yield func(string, compared) bool) {
	_ = yield("claim", l.Claim) && yield("submit", l.Submit)
}
