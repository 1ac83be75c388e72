package activities

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/agentprocess-temporal/server/identity/audit"
	"github.com/agentprocess-temporal/server/identity/guard"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/records"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

// What a run's record is beside its workflow. Those of [Mended] are put right by
// [Activities.Compare]; the others are for an operator to look at.
const (
	// Same: Postgres has what the workflow has.
	Same = "same"
	// Missing: Postgres has no record of it.
	Missing = "missing"
	// Behind: the workflow has carried out more than Postgres knows.
	Behind = "behind"
	// Differs: both are at the same write, and not alike.
	Differs = "differs"
	// Closed: the workflow was closed by somebody else than the run, which is
	// open in Postgres; it becomes cancelled.
	Closed = "closed"
	// Ahead: Postgres has writes, which callers were told of, that the workflow
	// does not have: Temporal was restored to an earlier moment, or the workflow
	// was reset.
	Ahead = "ahead"
	// Unknown: the run is open in Postgres, and Temporal has no such workflow.
	Unknown = "unknown"
	// Failed: it could not be compared or stored; Detail says why.
	Failed = "failed"
)

// Mended are the findings that a comparison puts right by itself.
var Mended = []string{Missing, Behind, Differs, Closed}

// Finding is what was found of one run.
type Finding struct {
	Org   string `json:"org"`
	RunID string `json:"runId"`
	Found string `json:"found"`
	// WorkflowSeq and RecordSeq are the numbers of the last change that the
	// workflow and the record know; 0 where there is none.
	WorkflowSeq int64 `json:"workflowSeq"`
	RecordSeq   int64 `json:"recordSeq"`
	// Mended is false where nothing was to be changed.
	Mended bool   `json:"mended"`
	Detail string `json:"detail,omitempty"`

	// over means that the record says so.
	over bool
}

// lookAgain is after how long a run that is not the same is compared once more:
// a write may be under way.
const lookAgain = time.Second

// Compare compares the record of a run with its workflow, whose status is given,
// and puts right what it may unless dry. It overwrites no record that is ahead.
func (a *Activities) Compare(ctx context.Context, org, runID string, status enumspb.WorkflowExecutionStatus, dry bool) Finding {
	f, latest, err := a.look(ctx, org, runID, status)
	if err == nil && f.Found != Same {
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
		}
		f, latest, err = a.look(ctx, org, runID, status)
	}
	if err == nil && !dry && latest != nil && f.Found != Ahead {
		err = a.mend(ctx, f, latest)
		f.Mended = err == nil && f.Found != Same
	}
	if err == nil && endedByOthers(status) && latest != nil && !latest.Over() && f.Found != Ahead && !f.over {
		f.Found = Closed
		if !dry {
			err = a.settleRun(ctx, org, runID)
			f.Mended = err == nil
		}
	}
	if err != nil {
		f.Found, f.Mended, f.Detail = Failed, false, err.Error()
	}
	return f
}

func endedByOthers(s enumspb.WorkflowExecutionStatus) bool {
	switch s {
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return true
	}
	return false
}

// look reads both sides. The workflow is read first: a write in between makes the
// record newer, and the two are then read again.
func (a *Activities) look(ctx context.Context, org, runID string, status enumspb.WorkflowExecutionStatus) (f Finding, latest *run.Run, err error) {
	f = Finding{Org: org, RunID: runID, Found: Same}
	pool := a.Service.Pool
	latest, err = a.query(ctx, workflows.WorkflowID(org, runID))
	if isNotFound(err) {
		have, err := records.Whole(ctx, pool, org, runID)
		if err == nil && have != nil { // else it was deleted just now
			f.Found, f.RecordSeq = Unknown, have.Seq
		}
		return f, nil, err
	}
	if err != nil {
		return f, nil, fmt.Errorf("ask the workflow: %w", err)
	}
	f.WorkflowSeq = latest.Seq
	if latest.Process, err = a.Service.Process(ctx, org, latest.Record.Process, latest.Version); err != nil {
		return f, latest, fmt.Errorf("process %s version %d: %w", latest.Record.Process, latest.Version, err)
	}
	want, err := operations.Row(latest)
	if err != nil {
		return f, latest, err
	}
	have, err := records.Whole(ctx, pool, org, runID)
	if err != nil {
		return f, latest, err
	}
	if have != nil {
		f.RecordSeq, f.over = have.Seq, have.State == string(run.Ended) || have.State == string(run.Cancelled)
	}
	if have == nil {
		if deleted, err := a.deleted(ctx, latest); err != nil || deleted {
			return f, nil, err
		}
	}
	switch {
	case f.over && endedByOthers(status) && have.Seq > want.Seq:
		// That it was cancelled when its workflow was closed, only the record knows.
	case have == nil:
		f.Found = Missing
	case have.Seq < want.Seq:
		f.Found = Behind
	case have.Seq > want.Seq:
		f.Found = Ahead
	case !bytes.Equal(have.Record, want.Record), !slices.Equal(have.WorkKeys, keysOf(want.Work)):
		f.Found = Differs
	}
	return f, latest, nil
}

func keysOf(work []records.Work) []string {
	keys := make([]string, len(work))
	for i, w := range work {
		keys[i] = w.Key
	}
	slices.Sort(keys)
	return keys
}

// deleted reports whether an operator has deleted a run, or is about to. Temporal
// goes on having its workflow for some seconds, and for good where it was restored to an
// earlier moment. A run that was started again since, under the same id, is another.
func (a *Activities) deleted(ctx context.Context, r *run.Run) (bool, error) {
	return audit.Happened(ctx, a.Service.Pool, r.Org, r.ID, guard.DeleteRun, r.StartedAt)
}

// mend stores what the workflow knows: its record, and the outcomes of the writes
// that it remembers, for the ledger. What was deleted meanwhile goes again.
func (a *Activities) mend(ctx context.Context, f Finding, latest *run.Run) error {
	if f.Found == Differs {
		if err := records.Outdate(ctx, a.Service.Pool, f.Org, f.RunID, f.RecordSeq); err != nil {
			return err
		}
	}
	if err := a.Service.Store(ctx, workflows.Projection{Record: latest.Record, Requests: latest.Requests}); err != nil {
		return err
	}
	if deleted, err := a.deleted(ctx, latest); err != nil || !deleted {
		return err
	}
	err := records.Delete(ctx, a.Service.Pool, f.Org, f.RunID)
	if errors.Is(err, records.ErrNotFound) || errors.Is(err, records.ErrNotEnded) { // the latter is refused
		return nil
	}
	return err
}
