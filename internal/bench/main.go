package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentprocess-temporal/server/internal/server"
)

// plan says how much is measured.
type plan struct {
	// LatencyRounds of one run, of 40 writes, each.
	LatencyRounds int `json:"latencyRounds"`
	// ThroughputRounds of Throughput each.
	ThroughputRounds int           `json:"throughputRounds"`
	Throughput       time.Duration `json:"throughputNanoseconds"`
	// ContentionRounds of one run each.
	ContentionRounds int `json:"contentionRounds"`
	// WorkCalls of get_work for each size.
	WorkCalls int `json:"workCalls"`
	// WorkSizes are numbers of ready steps, ascending.
	WorkSizes []int `json:"workSizes"`
}

var (
	whole = plan{
		LatencyRounds: 12, ThroughputRounds: 4, Throughput: 6 * time.Second,
		ContentionRounds: 4, WorkCalls: 500, WorkSizes: []int{1_000, 10_000, 100_000},
	}
	quick = plan{
		LatencyRounds: 2, ThroughputRounds: 1, Throughput: 3 * time.Second,
		ContentionRounds: 1, WorkCalls: 100, WorkSizes: []int{1_000, 10_000},
	}
)

// callersAtOnce is how many callers throughput is measured with.
const callersAtOnce = 64

type flags struct {
	quick   bool
	out     string
	parts   string
	profile string
}

func (f flags) has(part string) bool {
	return f.parts == "" || slices.Contains(strings.Split(f.parts, ","), part)
}

func main() {
	var f flags
	flag.BoolVar(&f.quick, "quick", false, "a few seconds a part; too few samples to rely on")
	flag.StringVar(&f.out, "out", "bench.json", "where to write the figures")
	flag.StringVar(&f.parts, "parts", "", "of latency, throughput, contention, work, those to measure, with commas (default: all)")
	flag.StringVar(&f.profile, "profile", "", "directory for CPU, mutex and block profiles of the writes")
	flag.Parse()
	if err := bench(f); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(f flags) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := whole
	if f.quick {
		p = quick
	}
	server.TuneRuntime()
	began := time.Now()
	progress("starting Postgres, Temporal and the server")
	s, err := startStack(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if failed := s.stop(); err == nil {
			err = failed
		}
	}()
	r, err := measure(ctx, s, p, f)
	if err != nil {
		return err
	}
	r.Took = time.Since(began).Round(time.Second).String()
	r.print(os.Stdout)
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(f.out, append(text, '\n'), 0o600)
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
