package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agentprocess-temporal/server/identity"
)

// options are what a run of the harness is made of.
type options struct {
	seed     uint64
	duration time.Duration
	// source is the checkout whose server is tested.
	source string
	// dir, if set, is where everything is kept; else a new folder is.
	dir     string
	verbose bool
	// from, if set, is a commit: its server is upgraded to source's while all work.
	from string
	// repository has that commit; empty: source does.
	repository string
	// calm leaves the faults out.
	calm bool
	out  io.Writer
}

// outcome is what a run of the harness found.
type outcome struct {
	dir        string
	violations []string
	report     report
}

// settleWithin bounds how long callers may go on repeating calls once every part
// is up again: the time a request can be pending, and some.
const settleWithin = 3 * time.Minute

// run runs the harness once. An error means that it could not do its work.
func harness(ctx context.Context, o options) (_ *outcome, err error) {
	began := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(o.out, "%7.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "agentprocess-faults-"); err != nil {
			return nil, err
		}
	}
	// PostgreSQL does not run as root: its user must get through.
	if err := os.Chmod(o.dir, 0o711); err != nil {
		return nil, err
	}
	say("seed %d, %v of faults, in %s", o.seed, o.duration, o.dir)
	binary, err := build(ctx, o.source, o.dir)
	if err != nil {
		return nil, err
	}
	first, known := binary, int64(0)
	if o.from != "" {
		say("building the server of %s", o.from)
		if first, known, err = previous(ctx, cmp.Or(o.repository, o.source), o.from, filepath.Join(o.dir, "previous")); err != nil {
			return nil, err
		}
	}
	lease := shortLease
	if o.calm {
		lease = calmLease
	}
	s, err := startStack(ctx, o.seed, o.dir, first, lease, say)
	if err != nil {
		return nil, err
	}
	defer func() {
		if stopped := s.stop(); err == nil {
			err = stopped
		}
	}()
	w := &world{stack: s, calls: &ledgerOfCalls{}, problems: &problems{}}
	v, err := newVerifier(w, o)
	if err != nil {
		return nil, err
	}
	if err := v.publish(ctx); err != nil {
		return nil, err
	}
	say("working, with %d agents and %d people", agents, people)
	c := &chaos{stack: s, say: say}
	if !o.verbose {
		c.say = func(string, ...any) {}
	}
	var runs []*keptRun
	roll := func(context.Context) error { return nil }
	if o.from != "" {
		if runs, err = v.keep(ctx, time.Now().Add(o.duration/2)); err != nil {
			return nil, err
		}
		u := &upgrade{world: w, from: first, to: binary, known: known, say: say}
		roll = func(ctx context.Context) error { return u.roll(ctx, o.duration) }
	}
	letGo := v.hold(ctx, runs)
	ended, err := load(ctx, w, o, c, roll, say)
	letGo()
	if err != nil {
		return nil, err
	}
	v.release(ctx, runs, !o.calm)
	if err := v.verify(ctx, o, say); err != nil {
		return nil, err
	}
	r := v.report(c, ended)
	return &outcome{dir: o.dir, violations: w.problems.all(), report: r}, nil
}

// load has everybody work while the faults happen, then ends the faults and waits
// for the last answers. It returns how long clients worked.
func load(ctx context.Context, w *world, o options, c *chaos, roll func(context.Context) error, say func(string, ...any)) (time.Duration, error) {
	began := time.Now()
	until, cancelUntil := context.WithTimeout(ctx, o.duration)
	defer cancelUntil()
	answered, cancelAnswered := context.WithTimeout(ctx, o.duration+settleWithin)
	defer cancelAnswered()
	var working sync.WaitGroup
	n := uint64(0)
	join := func(id string, do func(ctx, until context.Context, c *caller)) {
		n++
		who := w.caller(o.seed, id, n)
		who.forgetful = o.duration >= short // what is left behind takes two minutes to settle
		working.Go(func() { do(answered, until, who) })
	}
	for i := range agents {
		join(agentID(i), w.agent)
	}
	for i := range people {
		join(personID(i), w.person)
	}
	join(boss, w.person) // what was escalated
	join(boss, w.operator)
	join(agentID(1), w.reconciler)
	open := 16
	if o.duration < short {
		open = 8
	}
	join(agentID(0), func(ctx, until context.Context, c *caller) { w.starter(ctx, until, c, open) })
	var rolling sync.WaitGroup
	var unrolled error
	rolling.Go(func() { unrolled = roll(ctx) })
	var faults []fault
	if !o.calm {
		faults = schedule(o.seed, o.duration)
	}
	failed := c.run(until, faults)
	<-until.Done()
	w.stack.heal()
	say("faults ended; waiting for the last answers")
	working.Wait()
	rolling.Wait()
	if err := errors.Join(failed, unrolled); err != nil {
		return 0, err
	}
	return time.Since(began), w.stack.ready(ctx)
}

// caller makes a client of somebody in the directory.
func (w *world) caller(seed uint64, id string, n uint64) *caller {
	directory, err := identity.Load(filepath.Join(w.stack.dir, "directory.yaml"))
	if err != nil {
		panic(err) // the servers have read it
	}
	who, ok := directory.Caller(id)
	if !ok {
		panic("nobody is called " + id)
	}
	return newCaller(w.stack, seed, id, who, n, w.calls)
}

func newVerifier(w *world, o options) (*verifier, error) {
	processes, err := parsed()
	if err != nil {
		return nil, err
	}
	v := &verifier{world: w, seed: o.seed, processes: processes, callers: map[string]*caller{}}
	ids := []string{boss, personID(people)} // the last one approves what is kept
	for i := range agents {
		ids = append(ids, agentID(i))
	}
	for i := range people {
		ids = append(ids, personID(i))
	}
	for i, id := range ids {
		c := w.caller(o.seed, id, 1000+uint64(i))
		c.patient = true
		v.callers[c.Subject] = c
	}
	v.reader = v.callers["ops@example.com"]
	return v, nil
}

// verify holds everything against everything, once all is up again.
func (v *verifier) verify(ctx context.Context, o options, say func(string, ...any)) error {
	most, replays := 12, 1000
	if o.duration < short {
		most, replays = 3, 150
	}
	say("driving open runs on")
	v.goOn(ctx, most)
	say("waiting until nothing is pending")
	v.quiet(ctx)
	v.ended = time.Now()
	v.definite()
	if err := v.load(ctx); err != nil {
		return err
	}
	v.compareLedger()
	say("comparing workflows, records and work")
	if err := v.loadRuns(ctx); err != nil {
		return err
	}
	v.tables(ctx)
	v.continued(ctx)
	v.notified()
	say("repeating writes")
	v.replays(ctx, replays)
	say("looking for an order of every run's writes")
	v.linearize()
	for _, alarm := range v.stack.said.alarms {
		v.problems.add("a part raises an alarm: %.1000s", alarm)
	}
	return nil
}
