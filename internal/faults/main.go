package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	o := options{out: os.Stdout}
	flag.Uint64Var(&o.seed, "seed", 1, "what the schedule and every choice follow from")
	flag.DurationVar(&o.duration, "duration", time.Minute, "how long faults happen; checking comes on top, minutes at most")
	flag.StringVar(&o.source, "source", ".", "checkout whose server is tested")
	flag.StringVar(&o.dir, "dir", "", "folder for everything (default: a new one, removed unless something is violated)")
	flag.BoolVar(&o.verbose, "v", false, "print each fault as it happens")
	flag.StringVar(&o.from, "from", "", "commit whose server is upgraded to the source's while everybody works")
	flag.BoolVar(&o.calm, "calm", false, "no faults: just the work, and the upgrade")
	plan := flag.Bool("plan", false, "print the schedule and end")
	flag.Parse()
	if *plan {
		for _, f := range schedule(o.seed, o.duration) {
			fmt.Fprintln(o.out, f)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	found, err := harness(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(2)
	}
	found.report.write(o.out)
	if len(found.violations) == 0 {
		fmt.Fprintln(o.out, "\nno violations")
		_ = os.RemoveAll(found.dir) // a left-over temporary folder fails nothing
		return
	}
	fmt.Fprintf(o.out, "\n%d VIOLATIONS; everything is kept in %s; the seed was %d\n", len(found.violations), found.dir, o.seed)
	for i, each := range found.violations {
		fmt.Fprintf(o.out, "\n%d. %.6000s\n", i+1, each)
	}
	os.Exit(1)
}
