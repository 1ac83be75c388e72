package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"
)

const (
	// openWithin is how long a new run waits for the update that opens it. A
	// front end that died in between leaves a run that stores itself.
	openWithin = 3 * time.Second
	// longestTimer bounds one timer. A later deadline is armed for again.
	longestTimer = 100 * 24 * time.Hour
)

// unarmed reports whether no timer goes off in time for the next deadline.
func (w *processRun) unarmed() bool {
	next := w.r.NextDeadline()
	return !next.IsZero() && (len(w.armed) == 0 || next.Before(w.armed[0]))
}

// arm sets a timer where none goes off in time. One that is set too early is
// left to fire and find nothing, so that a claim and its submission add no
// timer events; and one that is set for later is still there when it is needed.
func (w *processRun) arm(ctx workflow.Context) {
	w.woken = false
	if !w.unarmed() {
		return
	}
	at, now := w.r.NextDeadline(), workflow.Now(ctx)
	d := max(at.Sub(now), time.Millisecond)
	if d > longestTimer {
		d = longestTimer
		at = now.Add(d)
	}
	timer := workflow.NewTimerWithOptions(ctx, d, workflow.TimerOptions{Summary: w.r.DeadlineSummary()})
	w.armed = slices.Insert(w.armed, 0, at)
	workflow.GoNamed(ctx, "timer", func(ctx workflow.Context) {
		_ = timer.Get(ctx, nil) // nothing cancels it
		i := slices.IndexFunc(w.armed, at.Equal)
		w.armed = slices.Delete(w.armed, i, i+1)
		w.woken = true
	})
}

// awaitOpening has the run store itself unless somebody opens it in time. The
// update that comes with the start does so in the same task, which takes the
// timer back before it is ever in the history.
func (w *processRun) awaitOpening(ctx workflow.Context) {
	ctx, w.closeOpening = workflow.WithCancel(ctx)
	timer := workflow.NewTimerWithOptions(ctx, openWithin, workflow.TimerOptions{Summary: "nobody opened the run: store it"})
	workflow.GoNamed(ctx, "opening", func(ctx workflow.Context) {
		if err := timer.Get(ctx, nil); err != nil {
			return // opened
		}
		w.opened, w.stale = true, true
	})
}

// open notes that somebody has, or is about to have, the run's record.
func (w *processRun) open() {
	if !w.opened {
		w.opened = true
		if w.closeOpening != nil {
			w.closeOpening()
		}
	}
}
