package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/agentprocess-temporal/server/run"
)

const (
	// DefaultCheckTry is how long one try at a check may take, where the write
	// does not say.
	DefaultCheckTry = 6 * time.Second
	// CheckTries is how often a check is tried: the server tries once more by
	// itself (check profile §3).
	CheckTries = 2
	// betweenChecks is the pause before that, and watchEvaluator how soon it is
	// noticed that the worker at it is gone.
	betweenChecks  = 200 * time.Millisecond
	watchEvaluator = 2 * time.Second
)

// CheckLasts is the longest that a check can take with this long for each try.
func CheckLasts(try time.Duration) time.Duration { return CheckTries*try + time.Second }

// check has the evaluator asked about a write, and carries the write out on the
// state of that moment. It is the one thing that waits inside an update.
func (w *processRun) check(ctx workflow.Context, c run.Command, q *run.CheckRequest, before int64) (Written, error) {
	try := time.Duration(c.CheckSeconds) * time.Second
	if try <= 0 {
		try = DefaultCheckTry
	}
	if ends := q.LeaseEnds; !ends.IsZero() && ends.Before(workflow.Now(ctx).Add(CheckLasts(try))) {
		w.stale = true // readers would take the lease for ended
	}
	workflow.SetCurrentDetails(ctx, Details(w.r))
	answers := w.evaluate(ctx, q, try)
	answers.Truncated = q.Truncated
	w.spread(ctx)
	if ctx.Err() != nil {
		own, _ := workflow.NewDisconnectedContext(ctx)
		w.cancel(own) // the run is cancelled, whoever notices first
	}
	last, _ := w.verdict()
	o, err := w.r.ExecuteChecked(c, answers, workflow.Now(ctx))
	w.countVerdict(ctx, last)
	return w.written(ctx, before, o, err)
}

// evaluate asks. No answers mean that there were none, or that the run was over
// before there were.
func (w *processRun) evaluate(ctx workflow.Context, q *run.CheckRequest, try time.Duration) (answers run.Answers) {
	asking, stop := workflow.WithCancel(ctx)
	defer stop()
	done := workflow.ExecuteActivity(workflow.WithActivityOptions(asking, workflow.ActivityOptions{
		StartToCloseTimeout:    try,
		ScheduleToCloseTimeout: CheckLasts(try),
		HeartbeatTimeout:       min(try, watchEvaluator),
		Summary:                fmt.Sprintf("check %s", q.StepID),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: betweenChecks, BackoffCoefficient: 1, MaximumAttempts: CheckTries,
		},
	}), ActivityEvaluate, *q)
	if err := workflow.Await(ctx, func() bool { return done.IsReady() || w.r.Over() }); err != nil || !done.IsReady() {
		return run.Answers{}
	}
	if err := done.Get(ctx, &answers); err != nil {
		workflow.GetLogger(ctx).Warn("check not answered", "run", w.r.ID, "step", q.StepID, "error", err)
		return run.Answers{}
	}
	return answers
}
