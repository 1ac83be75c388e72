package activities

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/activity"

	"github.com/agentprocess-temporal/server/evaluator"
	"github.com/agentprocess-temporal/server/notify"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

// Activities are the activities of a worker.
type Activities struct {
	Service *operations.Service
	Channel notify.Channel
	// Evaluator answers the questions of checks; nil where none is configured.
	Evaluator evaluator.Evaluator
	Log       *slog.Logger
	// Settled, if set, is told of every reservation that was left behind, and
	// whether its run had carried the write out.
	Settled func(ctx context.Context, executed bool)
	// Passed, if set, is told of every pass of the reconciler, and Alarmed, at every
	// pass, of every run that an operator has to decide about.
	Passed  func(ctx context.Context, err error)
	Alarmed func(ctx context.Context)
}

// registry is the part of a worker that activities are registered with.
type registry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register registers them under the names that workflows call.
func (a *Activities) Register(w registry) {
	w.RegisterActivityWithOptions(a.Project, activity.RegisterOptions{Name: workflows.ActivityProject})
	w.RegisterActivityWithOptions(a.Notify, activity.RegisterOptions{Name: workflows.ActivityNotify})
	w.RegisterActivityWithOptions(a.Evaluate, activity.RegisterOptions{Name: workflows.ActivityEvaluate})
	w.RegisterActivityWithOptions(a.ReconcileAll, activity.RegisterOptions{Name: workflows.ActivityReconcile})
}

// Project stores a run's record and the outcomes of its recent requests.
func (a *Activities) Project(ctx context.Context, p workflows.Projection) error {
	return a.Service.Store(ctx, p)
}

// Notify delivers news, after the record it is about: no one is told of work
// that a read does not show yet.
func (a *Activities) Notify(ctx context.Context, d workflows.Delivery) error {
	if err := a.Service.Store(ctx, d.Projection); err != nil {
		return err
	}
	r := d.Projection.Record
	out := make([]notify.Notification, len(d.Notifications))
	for i, n := range d.Notifications {
		out[i] = notify.Notification{
			ID: n.ID, Org: r.Org, RunID: r.ID, Process: r.Process, Version: r.Version,
			StepID: n.StepID, ItemID: n.ItemID, Kind: notify.Kind(n.Kind), To: recipients(n.To), Due: n.Due, At: n.At,
		}
	}
	return a.Channel.Deliver(ctx, out)
}

func recipients(to []run.Assignment) []string {
	out := make([]string, len(to))
	for i, a := range to {
		switch {
		case a.Person != "":
			out[i] = "person:" + a.Person
		case a.Group == run.OperatorGroup:
			out[i] = notify.Operators
		default:
			out[i] = "group:" + a.Group
		}
	}
	return out
}

func (a *Activities) passed(ctx context.Context, err error) {
	if a.Passed != nil {
		a.Passed(ctx, err)
	}
}

func (a *Activities) alarmed(ctx context.Context) {
	if a.Alarmed != nil {
		a.Alarmed(ctx)
	}
}
