package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/agentprocess-temporal/server/internal/faults/faultpoint"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// Resume is a run carried into its next workflow run.
type Resume struct {
	Process *process.Process `json:"process"`
	Run     *run.Run         `json:"run"`
}

// manyUnstored requests are stored by the run itself, so that what it remembers
// stays bounded when it lives long between deadlines.
const manyUnstored = 200

// processRun is one run's workflow. Handlers change r; the main loop, woken
// whenever one has run, does whatever the state then asks for.
type processRun struct {
	r *run.Run
	// opened is set once somebody has the run's record; until then closeOpening
	// takes back the timer that waits for that.
	opened       bool
	closeOpening workflow.CancelFunc
	// armed are the moments at which timers go off, the earliest first. woken
	// means that one has.
	armed []time.Time
	woken bool
	// stale means that Postgres may not have the record: not a caller's write
	// changed it, but a deadline or a cancellation.
	stale      bool
	projecting bool
	// telling means that a notification is being delivered; stopTelling breaks
	// that off. left is set once all was stored, or is being, to continue as new.
	telling     bool
	stopTelling workflow.CancelFunc
	left        bool
	// bounded means that no delivery is larger than manyOwed.
	bounded bool
	shown   shown
	answers taskAnswers
	// leasesLost and overdues are those that have been counted.
	leasesLost, overdues int64
}

// ProcessRun is the workflow of one run (spec §3). It lives as long as the
// run, continuing as new when its history is long.
func ProcessRun(ctx workflow.Context, in Input) (Result, error) {
	w := &processRun{}
	if in.Resume != nil {
		w.r, w.opened = in.Resume.Run, true
		w.r.Process = in.Resume.Process
		w.shown = shownBefore(ctx)
		w.leasesLost, w.overdues = w.r.LeasesLost, w.r.Overdues
	} else {
		w.r = run.New(*in.Start, workflow.Now(ctx))
	}
	if err := w.register(ctx); err != nil {
		return Result{}, err
	}
	w.show(ctx)
	return w.loop(ctx)
}

// loop runs until the run has ended and is stored, or continues as new. What a
// run still has to do it does after a cancellation too, hence the context that
// none reaches.
func (w *processRun) loop(ctx workflow.Context) (Result, error) {
	own, _ := workflow.NewDisconnectedContext(ctx)
	if !w.opened {
		w.awaitOpening(own)
	}
	var cancelled error
	for {
		if cancelled == nil && ctx.Err() != nil {
			cancelled = ctx.Err()
			w.cancel(own)
		}
		if changed := w.r.Advance(workflow.Now(own)); changed || w.woken {
			// Awake anyway: what a front end may have left unstored is stored, too.
			w.stale = w.stale || changed || w.r.CountUnstored() > 0
			w.show(own)
		}
		w.bound(own)
		w.prepareToClose(own)
		if w.mustStore() {
			w.project(own)
		}
		if w.mustTell(own) {
			w.notify(own)
		}
		if w.idle(own) {
			switch {
			case cancelled != nil && w.r.State == run.Cancelled:
				return Result{}, cancelled
			case w.r.Over():
				return Result{State: w.r.State, Outcome: w.r.Outcome}, nil
			default:
				return Result{}, workflow.NewContinueAsNewError(own, ProcessRun, w.next())
			}
		}
		w.arm(own)
		err := workflow.Await(own, func() bool {
			return (cancelled == nil && ctx.Err() != nil) || w.wanted(own)
		})
		if err != nil {
			return Result{}, err
		}
	}
}

// next is what the next workflow run begins with.
func (w *processRun) next() Input {
	faultpoint.Here(faultpoint.Continuing)
	in := Input{Resume: &Resume{Process: w.r.Process, Run: w.r}}
	w.r.Requests = fit(in, w.r.Requests)
	return in
}

// cancel ends the run because somebody cancelled its workflow.
func (w *processRun) cancel(ctx workflow.Context) {
	w.r.CancelByServer(workflow.Now(ctx), "cancelled in Temporal")
	w.open()
	w.stale = true
	w.show(ctx)
}

// leaving reports whether the history is long enough to continue as new.
func (w *processRun) leaving(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// prepareToClose has all stored that a workflow about to close knows. A run that
// is over takes no more writes, and stores every last one. One that continues as
// new stores once what it has, so that writes that keep coming do not hold it
// back: those, and the news it owes, it carries over.
func (w *processRun) prepareToClose(ctx workflow.Context) {
	switch {
	case w.r.Over():
		w.stale = w.stale || w.r.CountUnstored() > 0
	case w.leaving(ctx) && !w.left:
		w.left, w.stale = true, true
		if w.telling {
			w.stopTelling()
		}
	}
}

// idle reports whether the workflow may close: nothing runs and nothing is owed.
func (w *processRun) idle(ctx workflow.Context) bool {
	switch {
	case w.stale, w.projecting, w.telling, !w.opened, !workflow.AllHandlersFinished(ctx):
		return false
	case w.r.Over():
		return len(w.r.Outbox) == 0
	}
	return w.left && !w.owesMany()
}

// wanted reports whether the main loop has something to do. Whatever makes it
// true, one pass of the loop makes false, or closes the workflow.
func (w *processRun) wanted(ctx workflow.Context) bool {
	switch {
	case w.woken, w.unarmed(), w.mustStore(), w.mustTell(ctx), w.idle(ctx):
		return true
	case w.r.Over():
		return w.r.CountUnstored() > 0 && !w.projecting
	}
	return w.leaving(ctx) && !w.left
}

func (w *processRun) mustStore() bool {
	return !w.projecting && (w.stale || w.r.CountUnstored() > manyUnstored)
}

// mustTell holds news back while continuing as new: it is carried over, if it is not
// too much for that.
func (w *processRun) mustTell(ctx workflow.Context) bool {
	return !w.telling && len(w.r.Outbox) > 0 && (!w.leaving(ctx) || w.r.Over() || w.owesMany())
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
		workflow.SetQueryHandlerWithOptions(ctx, QueryRun, w.asHeld, workflow.QueryHandlerOptions{
			Description: "the run as the workflow holds it",
		}),
	)
	return errors.Join(errs...)
}

// asHeld is the run, with as many of the requests it remembers as an answer has room
// for.
func (w *processRun) asHeld() (*run.Run, error) {
	r := *w.r
	r.Requests = fit(r, r.Requests)
	return &r, nil
}

func (w *processRun) validate(ctx workflow.Context, c run.Command) error {
	if err := w.r.Check(c, workflow.Now(ctx)); err != nil {
		return Refusal(err)
	}
	if w.full(ctx) {
		return errCrowded()
	}
	if w.leaving(ctx) && w.r.NeedsCheck(c, workflow.Now(ctx)) {
		return Refusal(run.Refuse(run.Retry, "the run is about to go on in a new history, which a check would hold up; send the call again with the same requestId"))
	}
	if !w.admit(ctx, c) {
		return errCrowded()
	}
	return nil
}

func (w *processRun) write(ctx workflow.Context, c run.Command) (Written, error) {
	before := w.r.Seq
	if q := w.r.BeginCheck(c, workflow.Now(ctx)); q != nil {
		return w.check(ctx, c, q, before)
	}
	o, err := w.r.Execute(c, workflow.Now(ctx))
	return w.written(ctx, before, o, err)
}

// written is what an update returns of a write; before is the record's number
// when it began.
func (w *processRun) written(ctx workflow.Context, before int64, o run.Outcome, err *run.Error) (Written, error) {
	if w.r.Seq != before {
		w.showAs(ctx, false)
	}
	if err != nil {
		w.stale = w.stale || w.r.Seq != before // a deadline, and nobody gets the record
		return Written{}, Refusal(err)
	}
	w.answered(ctx)
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

func (w *processRun) start(ctx workflow.Context, _ StartRequest) (Written, error) {
	w.open()
	w.answered(ctx)
	return Written{Record: w.r.Record}, nil
}
