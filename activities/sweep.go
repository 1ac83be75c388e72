package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/records"
	"github.com/agentprocess-temporal/server/workflows"
)

const (
	// sweptAtOnce is how many open records a pass compares: with one every twenty
	// seconds, ten thousand take an hour and a half. A workflow that nobody has
	// asked for long is replayed for it, so it is few.
	sweptAtOnce = 40
	// sweepWithin bounds the sweep of one pass.
	sweepWithin = 2 * time.Minute
	// listLags is how far Temporal's list of workflows may be behind, and
	// revivedAtMost bounds what a pass looks at of it.
	listLags      = time.Minute
	revivedAtMost = 10_000
)

// sweep compares open records with their workflows, a few after the ones of the
// last pass, and begins again after the last. What it cannot put right it says.
func (a *Activities) sweep(ctx context.Context, org, runID string) (nextOrg, nextRun string, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepWithin)
	defer cancel()
	page, err := records.Active(ctx, a.Service.Pool, &records.ActiveRun{Org: org, RunID: runID}, sweptAtOnce)
	if err != nil {
		return org, runID, err
	}
	var g errgroup.Group
	g.SetLimit(2) // calls go first
	for _, r := range page {
		g.Go(func() error {
			activity.RecordHeartbeat(ctx)
			a.tell(ctx, a.Compare(ctx, r.Org, r.RunID, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, false))
			return nil
		})
	}
	_ = g.Wait() // no error: what is wrong was said
	if len(page) < sweptAtOnce {
		return "", "", nil
	}
	last := page[len(page)-1]
	return last.Org, last.RunID, nil
}

// tell logs a finding: loudly if an operator must decide.
func (a *Activities) tell(ctx context.Context, f Finding) {
	of := []any{"org", f.Org, "run", f.RunID, "found", f.Found, "workflow_seq", f.WorkflowSeq, "record_seq", f.RecordSeq, "detail", f.Detail}
	switch {
	case f.Found == Same, ctx.Err() != nil:
	case f.Found == Failed:
		a.Log.WarnContext(ctx, "a record could not be compared with its workflow", of...)
	case slices.Contains(Mended, f.Found):
		a.Log.WarnContext(ctx, "a record was not as its workflow has it, and is now", of...)
	default:
		a.alarmed(ctx)
		a.Log.ErrorContext(ctx, "ALARM: a record and its workflow disagree, see docs/restore.md", of...)
	}
}

// findRevived finds workflows that run although the record says that their run has
// ended: somebody reset them in the Temporal UI. A record that is over stays so; the
// workflow would take writes that nobody sees.
func (a *Activities) findRevived(ctx context.Context, since time.Time) error {
	if since.IsZero() {
		return nil // the first pass: nothing that this server ended was reset yet
	}
	query := fmt.Sprintf(`WorkflowType = '%s' AND ExecutionStatus = 'Running' AND StartTime > '%s'`,
		workflows.TypeRun, since.Add(-listLags).UTC().Format(time.RFC3339))
	var token []byte
	for seen := 0; seen < revivedAtMost; {
		page, err := a.Service.Temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, NextPageToken: token})
		if err != nil {
			return err
		}
		var runs []records.ActiveRun
		for _, e := range page.Executions {
			if org, runID, ok := workflows.ParseWorkflowID(e.GetExecution().GetWorkflowId()); ok {
				runs = append(runs, records.ActiveRun{Org: org, RunID: runID})
			}
		}
		over, err := records.Over(ctx, a.Service.Pool, runs)
		if err != nil {
			return err
		}
		for _, r := range over {
			_, wasReset, err := a.describe(ctx, workflows.WorkflowID(r.Org, r.RunID))
			if err == nil && wasReset { // else it is about to close
				a.alarmed(ctx)
				a.Log.ErrorContext(ctx, "ALARM: the workflow of a run that had ended was reset, and runs again; terminate it", "org", r.Org, "run", r.RunID)
			}
		}
		seen += len(page.Executions)
		if token = page.NextPageToken; len(token) == 0 {
			return nil
		}
	}
	return nil
}
