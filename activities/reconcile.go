package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/ledger"
	"github.com/agentprocess-temporal/server/workflows"
)

const (
	// leftBehind is how long past its notAfter a reservation is somebody's no more.
	leftBehind = time.Minute
	// atOnce bounds the reservations that one pass settles, sideBySide the runs
	// asked at a time, askWithin how long one may take to answer: runs that do
	// not answer must not keep the others waiting.
	atOnce     = 500
	sideBySide = 8
	askWithin  = 10 * time.Second
	// settleWithin bounds the settling of reservations within a pass.
	settleWithin = 4 * time.Minute
	// lookBack is how long before the last pass a workflow that Temporal closed
	// is looked at again: its list lags, and a reset is not to be overlooked.
	lookBack = 24 * time.Hour
)

// ReconcileAll settles what was left behind: reservations whose front end died,
// and runs that were ended in the Temporal UI since the last pass; finds runs that
// had ended and whose workflow was reset; and compares the next few open records
// with their workflows. None waits for another. Each run that cannot be settled
// now is logged, and is for the next pass.
func (a *Activities) ReconcileAll(ctx context.Context, last workflows.Reconciled) (_ workflows.Reconciled, err error) {
	defer func() { a.passed(ctx, err) }()
	began := time.Now()
	var g errgroup.Group
	g.Go(func() error { return a.settleReservations(ctx) })
	whole := true
	g.Go(func() (err error) {
		whole, err = a.settleClosed(ctx, last.Through)
		return err
	})
	g.Go(func() error { return a.findRevived(ctx, last.Through) })
	next := last
	g.Go(func() (err error) {
		next.SweptOrg, next.SweptRun, err = a.sweep(ctx, last.SweptOrg, last.SweptRun)
		return err
	})
	if err = g.Wait(); err != nil {
		return last, err
	}
	if whole {
		next.Through = began
	}
	return next, nil
}

// settleReservations has the runs of overdue reservations store what they know.
// What a run then does not have as done it never executed, and never will: the
// attempt is past its time.
func (a *Activities) settleReservations(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	entries, err := ledger.Overdue(ctx, a.Service.Pool, time.Now().Add(-leftBehind), atOnce)
	if err != nil {
		return err
	}
	type key struct{ org, run string }
	runs := map[key][]ledger.Entry{}
	for _, e := range entries {
		k := key{e.Org, e.RunID}
		runs[k] = append(runs[k], e)
	}
	var g errgroup.Group
	g.SetLimit(sideBySide)
	for k, entries := range runs {
		g.Go(func() error {
			activity.RecordHeartbeat(ctx)
			if err := a.project(ctx, k.org, k.run); err != nil {
				a.Log.WarnContext(ctx, "reservations not settled yet", "org", k.org, "run", k.run, "count", len(entries), "error", err)
				return nil
			}
			return a.drop(ctx, entries)
		})
	}
	return g.Wait()
}

// drop frees the requestIds of reservations that are not done although their
// runs have stored everything.
func (a *Activities) drop(ctx context.Context, entries []ledger.Entry) error {
	for _, e := range entries {
		dropped, err := ledger.Drop(ctx, a.Service.Pool, e)
		if err != nil {
			return err
		}
		if a.Settled != nil {
			a.Settled(ctx, !dropped)
		}
		a.Log.InfoContext(ctx, "reservation settled", "org", e.Org, "run", e.RunID, "request", e.RequestID, "executed", !dropped)
	}
	return nil
}

// project has a run store what it knows; nil too where there is nothing to know:
// the reservation is of no run, or the run's workflow has closed, which it does
// only once it has stored everything.
//
// The update id is a new one each time: under one that was used before, Temporal
// would answer what the run knew then.
func (a *Activities) project(ctx context.Context, org, runID string) error {
	if runID == "" {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	handle, err := a.Service.Temporal.UpdateWorkflow(asking, client.UpdateWorkflowOptions{
		WorkflowID: workflows.WorkflowID(org, runID), UpdateID: uuid.NewString(),
		UpdateName: workflows.UpdateProject, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(asking, nil)
	}
	if isNotFound(err) {
		return a.settleRun(ctx, org, runID)
	}
	return err
}

// settleClosed finds runs whose workflow was closed by somebody else than the
// run: terminated, failed or reset. It reports whether all of them are settled.
func (a *Activities) settleClosed(ctx context.Context, since time.Time) (whole bool, err error) {
	query := fmt.Sprintf(`WorkflowType = '%s' AND ExecutionStatus IN ('Terminated', 'Failed', 'TimedOut')`, workflows.TypeRun)
	if !since.IsZero() {
		query += fmt.Sprintf(` AND CloseTime > '%s'`, since.Add(-lookBack).UTC().Format(time.RFC3339))
	}
	whole = true
	var token []byte
	for {
		page, err := a.Service.Temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, NextPageToken: token})
		if err != nil {
			return false, err
		}
		for _, execution := range page.Executions {
			activity.RecordHeartbeat(ctx)
			org, runID, ok := workflows.ParseWorkflowID(execution.Execution.WorkflowId)
			if !ok {
				continue
			}
			if err := a.settleRun(ctx, org, runID); err != nil {
				whole = false
				a.Log.ErrorContext(ctx, "closed run not settled", "org", org, "run", runID, "error", err)
			}
		}
		if token = page.NextPageToken; len(token) == 0 {
			return whole, nil
		}
	}
}
