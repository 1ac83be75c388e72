package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/agentprocess-temporal/server/ledger"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

const (
	// leftBehind is how long past its notAfter a reservation is somebody's no more.
	leftBehind = time.Minute
	// atOnce bounds the reservations that one pass settles.
	atOnce = 500
	// lookBack is how far back a pass looks for runs that Temporal closed.
	lookBack = 24 * time.Hour
)

// ReconcileAll settles what was left behind: reservations whose front end died,
// and runs that were ended in the Temporal UI.
func (a *Activities) ReconcileAll(ctx context.Context) error {
	return errors.Join(a.settleReservations(ctx), a.settleClosed(ctx))
}

// settleReservations has the runs of overdue reservations store what they know.
// What a run then does not have as done it never executed, and never will: the
// attempt is past its time.
func (a *Activities) settleReservations(ctx context.Context) error {
	entries, err := ledger.Overdue(ctx, a.Service.Pool, time.Now().Add(-leftBehind), atOnce)
	if err != nil {
		return err
	}
	projected := map[string]error{}
	for _, e := range entries {
		activity.RecordHeartbeat(ctx)
		key := e.Org + "\x00" + e.RunID
		if _, ok := projected[key]; !ok {
			projected[key] = a.project(ctx, e)
		}
		if err := projected[key]; err != nil {
			a.Log.WarnContext(ctx, "reservation not settled yet", "org", e.Org, "run", e.RunID, "request", e.RequestID, "error", err)
			continue
		}
		dropped, err := ledger.Drop(ctx, a.Service.Pool, e)
		if err != nil {
			return err
		}
		a.Log.InfoContext(ctx, "reservation settled", "org", e.Org, "run", e.RunID, "request", e.RequestID, "executed", !dropped)
	}
	return nil
}

// project has a run store what it knows; nil too where there is nothing to know:
// the reservation is of no run, or the run's workflow has closed, which it does
// only once it has stored everything.
func (a *Activities) project(ctx context.Context, e ledger.Entry) error {
	if e.RunID == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	handle, err := a.Service.Temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflows.WorkflowID(e.Org, e.RunID), UpdateID: uuid.NewString(),
		UpdateName: workflows.UpdateProject, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	if isNotFound(err) {
		return a.settleRun(ctx, e.Org, e.RunID)
	}
	return err
}

// settleClosed finds runs whose workflow was closed by somebody else than the
// run: terminated, failed or reset.
func (a *Activities) settleClosed(ctx context.Context) error {
	query := fmt.Sprintf(`WorkflowType = '%s' AND ExecutionStatus IN ('Terminated', 'Failed', 'TimedOut') AND CloseTime > '%s'`,
		workflows.TypeRun, time.Now().Add(-lookBack).UTC().Format(time.RFC3339))
	var token []byte
	for {
		page, err := a.Service.Temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, NextPageToken: token})
		if err != nil {
			return err
		}
		for _, execution := range page.Executions {
			activity.RecordHeartbeat(ctx)
			org, runID, ok := workflows.ParseWorkflowID(execution.Execution.WorkflowId)
			if !ok {
				continue
			}
			if err := a.settleRun(ctx, org, runID); err != nil {
				a.Log.ErrorContext(ctx, "closed run not settled", "org", org, "run", runID, "error", err)
			}
		}
		if token = page.NextPageToken; len(token) == 0 {
			return nil
		}
	}
}

// settleRun compares a run's record with its workflow. One that was terminated
// becomes cancelled, by the server; one that was reset to an earlier point is
// for an operator to look at, and is said so, loudly, every time.
func (a *Activities) settleRun(ctx context.Context, org, runID string) error {
	stored, err := a.Service.Record(ctx, org, runID)
	if err != nil || stored == nil || stored.Over() {
		return err
	}
	id := workflows.WorkflowID(org, runID)
	described, err := a.Service.Temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil && !isNotFound(err) {
		return err
	}
	status := described.GetWorkflowExecutionInfo().GetStatus()
	latest, err := a.query(ctx, id)
	if err != nil {
		a.Log.WarnContext(ctx, "workflow cannot be queried; its stored record stands for it", "org", org, "run", runID, "error", err)
		latest = &run.Run{Record: *stored}
	}
	if status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		if latest.Seq < stored.Seq {
			a.Log.ErrorContext(ctx, "ALARM: the run's workflow was reset to before writes that were acknowledged",
				"org", org, "run", runID, "workflow_seq", latest.Seq, "record_seq", stored.Seq)
		}
		return nil
	}
	if latest.Seq < stored.Seq {
		latest = &run.Run{Record: *stored}
	}
	requests := latest.Unstored()
	if latest.Process, err = a.Service.Process(ctx, org, latest.Record.Process, latest.Version); err != nil {
		return err
	}
	latest.CancelByServer(time.Now(), "the workflow was closed in Temporal ("+status.String()+")")
	a.Log.WarnContext(ctx, "run cancelled: its workflow was closed in Temporal", "org", org, "run", runID, "status", status.String())
	return a.Service.Store(ctx, workflows.Projection{Record: latest.Record, Requests: requests})
}

func (a *Activities) query(ctx context.Context, workflowID string) (*run.Run, error) {
	value, err := a.Service.Temporal.QueryWorkflow(ctx, workflowID, "", workflows.QueryRun)
	if err != nil {
		return nil, err
	}
	var raw json.RawMessage
	if err := value.Get(&raw); err != nil {
		return nil, err
	}
	var r run.Run
	return &r, json.Unmarshal(raw, &r)
}

func isNotFound(err error) bool {
	var gone *serviceerror.NotFound
	return errors.As(err, &gone)
}
