package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

// settleRun compares a run's record with its workflow. One that was terminated
// becomes cancelled, by the server. One that was reset is for an operator to
// look at, and that is said at every pass: loudly while writes that callers
// were told of are missing from it.
func (a *Activities) settleRun(ctx context.Context, org, runID string) error {
	stored, err := a.Service.Record(ctx, org, runID)
	if err != nil || stored == nil || stored.Over() {
		return err
	}
	id := workflows.WorkflowID(org, runID)
	info, wasReset, err := a.describe(ctx, id)
	if err != nil {
		return err
	}
	if info == nil {
		// Deleted, or never here: a server that is pointed at another namespace
		// must not end every run it has.
		a.alarmed(ctx)
		return fmt.Errorf("ALARM: Temporal's namespace %q has no workflow %s, and its run is open", a.Service.Namespace, id)
	}
	latest, err := a.query(ctx, id)
	switch {
	case err != nil && transient(err):
		return err
	case err != nil:
		a.Log.WarnContext(ctx, "workflow cannot be queried; its stored record stands for it", "org", org, "run", runID, "error", err)
		latest = &run.Run{Record: *stored}
	}
	if info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		seqs := []any{"org", org, "run", runID, "workflow_seq", latest.Seq, "record_seq", stored.Seq}
		switch {
		case latest.Seq < stored.Seq:
			a.alarmed(ctx)
			a.Log.ErrorContext(ctx, "ALARM: the run's workflow was reset to before writes that were acknowledged", seqs...)
		case wasReset:
			a.Log.WarnContext(ctx, "the run's workflow was reset: compare its record with what callers were told", seqs...)
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
	latest.CancelByServer(closedAt(info, latest), "the workflow was closed in Temporal ("+info.GetStatus().String()+")")
	a.Log.WarnContext(ctx, "run cancelled: its workflow was closed in Temporal", "org", org, "run", runID, "status", info.GetStatus().String())
	return a.Service.Store(ctx, workflows.Projection{Record: latest.Record, Requests: requests})
}

// closedAt is when a workflow was closed: what was to happen later does not.
func closedAt(info *workflowpb.WorkflowExecutionInfo, r *run.Run) time.Time {
	at := info.GetCloseTime().AsTime()
	if at.Before(r.UpdatedAt) {
		return r.UpdatedAt
	}
	return at
}

// describe says how a run's latest workflow run is, nil where Temporal knows
// none, and whether it came of a reset.
func (a *Activities) describe(ctx context.Context, workflowID string) (*workflowpb.WorkflowExecutionInfo, bool, error) {
	d, err := a.Service.Temporal.DescribeWorkflow(ctx, workflowID, "")
	if isNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return d.RawResponse.GetWorkflowExecutionInfo(), d.RawResponse.GetWorkflowExtendedInfo().GetLastResetTime() != nil, nil
}

// query has the run as its workflow holds it, or held it when it closed.
func (a *Activities) query(ctx context.Context, workflowID string) (*run.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
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

// transient reports whether asking again later may help.
func transient(err error) bool {
	var failed *serviceerror.QueryFailed
	var refused *serviceerror.InvalidArgument
	return !isNotFound(err) && !errors.As(err, &failed) && !errors.As(err, &refused)
}

func isNotFound(err error) bool {
	var gone *serviceerror.NotFound
	return errors.As(err, &gone)
}
