package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/agentprocess-temporal/server/run"
)

const (
	// storeTimeout bounds one try at storing; tries go on for as long as it takes.
	storeTimeout = 10 * time.Second
	// tellTimeout bounds one try at notifying, giveUpTelling all of them within
	// one workflow run.
	tellTimeout   = 30 * time.Second
	giveUpTelling = 10 * time.Minute
)

// mostStored is how many requests are stored at once, the oldest first: Temporal takes
// two megabytes of one argument, and writes go on to come in while storing is tried
// again.
const mostStored = manyUnstored + 100

func (w *processRun) projection(ctx workflow.Context) Projection {
	requests := w.r.Unstored()
	if len(requests) > mostStored && workflow.GetVersion(ctx, "store in parts", workflow.DefaultVersion, 1) == 1 {
		requests = requests[:mostStored]
	}
	return Projection{Record: w.r.Record, Requests: requests}
}

func requestIDs(requests []run.Request) []string {
	ids := make([]string, len(requests))
	for i, q := range requests {
		ids[i] = q.ID
	}
	return ids
}

// storing is the context of an activity that must succeed some day.
func storing(ctx workflow.Context, timeout, giveUp time.Duration, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    timeout,
		ScheduleToCloseTimeout: giveUp,
		Summary:                summary,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
	})
}

// project stores the record and the outcomes the ledger may not have.
func (w *processRun) project(ctx workflow.Context) {
	p := w.projection(ctx)
	w.projecting, w.stale = true, false
	done := workflow.ExecuteActivity(storing(ctx, storeTimeout, 0, "store the record"), ActivityProject, p)
	workflow.GoNamed(ctx, "store", func(ctx workflow.Context) {
		err := done.Get(ctx, nil)
		w.projecting = false
		if err != nil { // tries never end, but an operator may fail an activity
			w.stale = true
			return
		}
		w.r.MarkStored(requestIDs(p.Requests), workflow.Now(ctx))
	})
}

// manyOwed notifications are delivered at once, and carried over into the next
// history, at most: a hundred kilobytes.
const manyOwed = 200

func (w *processRun) owesMany() bool { return w.bounded && len(w.r.Outbox) > manyOwed }

// bound has deliveries bounded from the first that is too large, if the history is
// not from before they were.
func (w *processRun) bound(ctx workflow.Context) {
	if !w.bounded && len(w.r.Outbox) > manyOwed {
		w.bounded = workflow.GetVersion(ctx, "bounded delivery", workflow.DefaultVersion, 1) == 1
	}
}

// notify delivers what the run owes. What cannot be delivered in time is given
// up, and logged where it failed; what continuing as new breaks off is owed on.
func (w *processRun) notify(ctx workflow.Context) {
	ctx, w.stopTelling = workflow.WithCancel(ctx)
	owed := w.r.Outbox
	if w.owesMany() {
		owed = owed[:manyOwed]
	}
	d := Delivery{Projection: w.projection(ctx), Notifications: slices.Clone(owed)}
	w.telling = true
	done := workflow.ExecuteActivity(storing(ctx, tellTimeout, giveUpTelling, "notify: "+d.Notifications[0].Kind+" "+d.Notifications[0].StepID), ActivityNotify, d)
	workflow.GoNamed(ctx, "notify", func(ctx workflow.Context) {
		err := done.Get(ctx, nil)
		w.telling = false
		if temporal.IsCanceledError(err) {
			return
		}
		if err == nil {
			w.r.MarkStored(requestIDs(d.Projection.Requests), workflow.Now(ctx))
		} else {
			workflow.GetLogger(ctx).Error("notifications given up", "run", w.r.ID, "error", err)
		}
		ids := make([]string, len(d.Notifications))
		for i, n := range d.Notifications {
			ids[i] = n.ID
		}
		w.r.Delivered(ids)
	})
}

// projectNow stores what the run knows and returns once that is done. The
// reconciler asks for it, also while somebody cancels the workflow.
func (w *processRun) projectNow(ctx workflow.Context) error {
	w.open()
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	left := w.r.CountUnstored()
	for {
		p := w.projection(ctx)
		if err := workflow.ExecuteActivity(storing(ctx, storeTimeout, time.Minute, "store the record, on request"), ActivityProject, p).Get(ctx, nil); err != nil {
			return err
		}
		w.r.MarkStored(requestIDs(p.Requests), workflow.Now(ctx))
		if left -= len(p.Requests); left <= 0 || w.r.CountUnstored() == 0 {
			return nil
		}
	}
}
