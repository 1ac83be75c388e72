package operations

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	commonpb "go.temporal.io/api/common/v1"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/records"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

// DeleteRun deletes a run that is over, and everything kept of it: its record,
// the files only it cites, its requests, and its history in Temporal.
func (s *Service) DeleteRun(ctx context.Context, caller identity.Caller, runID string) *run.Error {
	if err := s.deleteRun(ctx, caller, runID); err != nil {
		return s.refusal(ctx, err, "delete run", caller)
	}
	return nil
}

func (s *Service) deleteRun(ctx context.Context, caller identity.Caller, runID string) error {
	if !caller.IsPerson() || !caller.Operator {
		return run.Refuse(run.Forbidden, "only an operator deletes a run")
	}
	notFound := run.Refuse(run.NotFound, "no such run")
	if !postgres.ValidText(runID) {
		return notFound
	}
	// The history goes first: a run whose record is gone could not be found again
	// to delete the rest.
	if err := s.checkOver(ctx, caller, runID); err != nil {
		return err
	}
	if err := s.awaitClosed(ctx, workflows.WorkflowID(caller.Org, runID)); err != nil {
		return err
	}
	_, err := s.Temporal.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace:         s.Namespace,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflows.WorkflowID(caller.Org, runID)},
	})
	var gone *serviceerror.NotFound
	if err != nil && !errors.As(err, &gone) {
		return err
	}
	err = records.Delete(ctx, s.Pool, caller.Org, runID)
	switch {
	case errors.Is(err, records.ErrNotFound):
		return nil // it was there, and somebody else was faster
	case errors.Is(err, records.ErrNotEnded):
		return run.Refuse(run.Conflict, "the run has not ended: cancel it first", "not_ended")
	}
	return err
}

// closesWithin is how long a run that is over may take to store its end.
const closesWithin = 10 * time.Second

// awaitClosed waits until a run's workflow has closed, however it did. Until then
// the run may be storing its record, which would bring a deleted one back.
func (s *Service) awaitClosed(ctx context.Context, workflowID string) error {
	waiting, cancel := context.WithTimeout(ctx, closesWithin)
	defer cancel()
	if err := s.Temporal.GetWorkflow(waiting, workflowID, "").Get(waiting, nil); err != nil && waiting.Err() != nil {
		return run.Refuse(run.Retry, "the run's workflow has not closed yet; send it again, and look at the workflow in Temporal if it stays so")
	}
	return nil // closed, or not there
}

func (s *Service) checkOver(ctx context.Context, caller identity.Caller, runID string) error {
	_, row, _, err := s.look(ctx, request{caller: caller, runID: runID})
	switch {
	case err != nil:
		return err
	case row == nil:
		return run.Refuse(run.NotFound, "no such run")
	case row.State != string(run.Ended) && row.State != string(run.Cancelled):
		return run.Refuse(run.Conflict, "the run has not ended: cancel it first", "not_ended")
	}
	return nil
}
