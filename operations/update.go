package operations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

func newBatch() *pgx.Batch { return &pgx.Batch{} }

// update sends a write to its run and waits for the outcome. A refusal of the
// run comes back as *run.Error; everything else may yet be carried out.
func (s *Service) update(ctx context.Context, w write) (workflows.Written, error) {
	written, refused, err := s.send(ctx, w)
	for workflows.IsCrowded(err) && wait(ctx, crowdedPause) {
		written, refused, err = s.send(ctx, w)
	}
	if refused != nil {
		return written, refused
	}
	if err == nil {
		return written, nil
	}
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return written, s.closed(ctx, w.request, err)
	}
	return written, fmt.Errorf("update %s: %w", w.tool, err)
}

// crowdedPause is about how long it takes a run to answer what it has begun.
const crowdedPause = 20 * time.Millisecond

func (s *Service) send(ctx context.Context, w write) (workflows.Written, *run.Error, error) {
	handle, err := s.Temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID:   workflows.WorkflowID(w.caller.Org, w.runID),
		UpdateID:     w.command.Attempt,
		UpdateName:   w.command.Tool(),
		Args:         []any{w.command},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	return answer(ctx, handle, err)
}

// wait waits, and reports whether ctx still goes on.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// answer waits for the outcome of an update that was sent, or tells the refusal
// from every other failure.
func answer(ctx context.Context, handle client.WorkflowUpdateHandle, err error) (written workflows.Written, refused *run.Error, _ error) {
	if err == nil {
		err = handle.Get(ctx, &written)
	}
	if err == nil {
		return written, nil, nil
	}
	return written, refusalIn(err), err
}

// errLookAgain says that the ledger knows the outcome by now.
var errLookAgain = errors.New("the request was settled meanwhile")

// closed says what a write to a workflow that is no more came to. A run stores
// its record before its workflow closes, so the record tells.
func (s *Service) closed(ctx context.Context, q request, cause error) error {
	entry, row, now, err := s.look(ctx, q)
	if err != nil {
		return err
	}
	if entry != nil && entry.Done {
		return errLookAgain // it was this very request that ended the run
	}
	if row != nil {
		r, err := s.open(ctx, q.caller.Org, row.Record)
		if err != nil {
			return err
		}
		if r.Advance(now); r.Over() {
			return run.Refuse(run.Conflict, "the run has ended", "run_ended")
		}
	}
	return fmt.Errorf("the workflow of run %s is closed and its record is not: %w", q.runID, cause)
}

// refusalIn finds the refusal that a run answered with.
func refusalIn(err error) *run.Error {
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || !app.HasDetails() {
		return nil
	}
	var refused run.Error
	if app.Details(&refused) != nil || refused.Code == "" {
		return nil
	}
	return &refused
}
