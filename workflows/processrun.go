package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// Resume is a run carried into its next workflow run.
type Resume struct {
	Process *process.Process `json:"process"`
	Run     *run.Run         `json:"run"`
}

const (
	// openWithin is how long a new run waits for the update that starts it. A
	// front end that died in between leaves a run that stores itself.
	openWithin = 3 * time.Second
	// longestTimer bounds one timer. A later deadline is armed for again.
	longestTimer = 100 * 24 * time.Hour
	// manyUnstored requests are stored by the run itself, so that what it
	// remembers stays bounded when it lives long between deadlines.
	manyUnstored = 200
)

// processRun is one run's workflow. Handlers change r; the main loop, woken
// whenever one has run, does whatever the state then asks for.
type processRun struct {
	r *run.Run
	// opened is set once somebody has the run's record.
	opened bool
	// armed is the deadline that the latest timer serves, zero once it fired;
	// timers counts them, so that an older one is told apart.
	armed  time.Time
	timers int
	disarm workflow.CancelFunc
	woken  bool
	// stale means that Postgres may not have the record: a deadline changed it.
	stale               bool
	projecting, telling bool
	shown               shown
}

// ProcessRun is the workflow of one run (spec §3). It lives as long as the
// run, continuing as new when its history is long.
func ProcessRun(ctx workflow.Context, in Input) (Result, error) {
	w := &processRun{}
	if in.Resume != nil {
		w.r, w.opened = in.Resume.Run, true
		w.r.Process = in.Resume.Process
		w.shown = shownBefore(ctx)
	} else {
		w.r = run.New(*in.Start, workflow.Now(ctx))
	}
	if err := w.register(ctx); err != nil {
		return Result{}, err
	}
	w.show(ctx)
	return w.loop(ctx)
}

// loop runs until the run has ended and is stored, or continues as new.
func (w *processRun) loop(ctx workflow.Context) (Result, error) {
	var cancelled error
	for {
		if w.r.Advance(workflow.Now(ctx)) {
			w.stale = true
			w.show(ctx)
		}
		ending := w.r.Over() || w.leaving(ctx)
		if ending && w.r.CountUnstored() > 0 {
			w.stale = true
		}
		if w.mustStore() {
			w.project(ctx)
		}
		if w.mustTell(ctx) {
			w.notify(ctx)
		}
		if w.idle(ctx) {
			switch {
			case w.r.Over() && cancelled != nil:
				return Result{}, cancelled
			case w.r.Over():
				return Result{State: w.r.State, Outcome: w.r.Outcome}, nil
			case w.leaving(ctx):
				return Result{}, workflow.NewContinueAsNewError(ctx, ProcessRun, Input{Resume: &Resume{Process: w.r.Process, Run: w.r}})
			}
		}
		w.arm(ctx)
		err := workflow.Await(ctx, func() bool { return w.wanted(ctx) })
		if temporal.IsCanceledError(err) {
			cancelled = err
			ctx, _ = workflow.NewDisconnectedContext(ctx)
			w.r.CancelByServer(workflow.Now(ctx), "cancelled in Temporal")
			w.stale = true
			w.show(ctx)
		} else if err != nil {
			return Result{}, err
		}
	}
}

// leaving reports whether the history is long enough to continue as new.
func (w *processRun) leaving(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// idle reports whether the workflow may close: nothing runs and nothing is owed.
func (w *processRun) idle(ctx workflow.Context) bool {
	owing := w.r.Over() && len(w.r.Outbox) > 0
	return !w.stale && !w.projecting && !w.telling && !owing && w.opened && workflow.AllHandlersFinished(ctx)
}

// wanted reports whether the main loop has something to do.
func (w *processRun) wanted(ctx workflow.Context) bool {
	next := w.nextWake()
	switch {
	case w.woken, !next.IsZero() && (w.armed.IsZero() || next.Before(w.armed)):
		return true
	case w.opened && w.disarm != nil:
		return true
	case w.mustStore(), w.mustTell(ctx):
		return true
	case w.r.Over() || w.leaving(ctx):
		return w.idle(ctx) || (w.r.CountUnstored() > 0 && !w.projecting)
	}
	return false
}

func (w *processRun) mustStore() bool {
	return !w.projecting && (w.stale || w.r.CountUnstored() > manyUnstored)
}

// mustTell holds news back while continuing as new: it is carried over.
func (w *processRun) mustTell(ctx workflow.Context) bool {
	return !w.telling && len(w.r.Outbox) > 0 && (!w.leaving(ctx) || w.r.Over())
}

// nextWake is when the main loop must next look at the clock.
func (w *processRun) nextWake() time.Time {
	next := w.r.NextDeadline()
	if !w.opened {
		if openBy := w.r.StartedAt.Add(openWithin); next.IsZero() || openBy.Before(next) {
			return openBy
		}
	}
	return next
}

// arm sets the wake timer where none goes off in time. One that is armed too
// early is left to fire and find nothing, so that a claim and its submission
// add no timer events; only the timer that a start update makes needless is
// taken back, in the task that made it.
func (w *processRun) arm(ctx workflow.Context) {
	w.woken = false
	if w.opened && w.disarm != nil {
		w.disarm()
		w.disarm, w.armed = nil, time.Time{}
	}
	next := w.nextWake()
	if next.IsZero() || (!w.armed.IsZero() && !next.Before(w.armed)) {
		return
	}
	d := max(next.Sub(workflow.Now(ctx)), time.Millisecond)
	if d > longestTimer {
		d = longestTimer
		next = workflow.Now(ctx).Add(d)
	}
	timerCtx := ctx
	if !w.opened {
		timerCtx, w.disarm = workflow.WithCancel(ctx)
	}
	timer := workflow.NewTimerWithOptions(timerCtx, d, workflow.TimerOptions{Summary: w.r.DeadlineSummary()})
	w.armed = next
	w.timers++
	number := w.timers
	workflow.Go(ctx, func(ctx workflow.Context) {
		if err := timer.Get(ctx, nil); err != nil {
			return
		}
		if w.timers == number {
			w.armed = time.Time{}
		}
		if !w.opened {
			w.opened, w.disarm, w.stale = true, nil, true
		}
		w.woken = true
	})
}

// register sets the handlers up. It must happen before anything blocks.
func (w *processRun) register(ctx workflow.Context) error {
	var errs []error
	for _, name := range WriteUpdates {
		errs = append(errs, workflow.SetUpdateHandlerWithOptions(ctx, name, w.write, workflow.UpdateHandlerOptions{
			Validator: w.validate, Description: "one write of the Agent Process tool " + name,
		}))
	}
	errs = append(errs,
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateStart, w.start, workflow.UpdateHandlerOptions{
			Validator: w.validateStart, Description: "opens the run",
		}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateProject, w.projectNow, workflow.UpdateHandlerOptions{
			Description: "stores the record and the outcomes of recent writes in Postgres",
		}),
		workflow.SetQueryHandlerWithOptions(ctx, QueryRun, func() (*run.Run, error) { return w.r, nil }, workflow.QueryHandlerOptions{
			Description: "the run as the workflow holds it",
		}),
	)
	return errors.Join(errs...)
}

func (w *processRun) validate(ctx workflow.Context, c run.Command) error {
	if err := w.r.Check(c, workflow.Now(ctx)); err != nil {
		return Refusal(err)
	}
	return nil
}

func (w *processRun) write(ctx workflow.Context, c run.Command) (Written, error) {
	o, err := w.r.Execute(c, workflow.Now(ctx))
	if err != nil {
		return Written{}, Refusal(err)
	}
	w.show(ctx)
	return Written{Outcome: o, Record: w.r.Record}, nil
}

func (w *processRun) validateStart(_ workflow.Context, s StartRequest) error {
	for _, q := range w.r.Requests {
		if q.ID == s.RequestID && q.Digest != s.Digest {
			return Refusal(run.RequestReused())
		}
	}
	return nil
}

func (w *processRun) start(_ workflow.Context, _ StartRequest) (Written, error) {
	w.opened = true
	return Written{Record: w.r.Record}, nil
}
