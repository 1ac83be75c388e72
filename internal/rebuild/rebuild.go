package rebuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/activities"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/records"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

// What is found of a run. Those up to Differs are mended; the others are for an
// operator to look at.
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

// Mended are the findings that a rebuild mends by itself.
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
	// Mended is false in a dry run.
	Mended bool   `json:"mended"`
	Detail string `json:"detail,omitempty"`

	// over means that the record says so.
	over bool
}

// Summary counts the findings.
type Summary struct {
	Runs  int            `json:"runs"`
	Found map[string]int `json:"found"`
}

// Whole reports whether nothing is left to mend or to decide.
func (s Summary) Whole(dry bool) bool {
	for what, n := range s.Found {
		if n > 0 && what != Same && (dry || !slices.Contains(Mended, what)) {
			return false
		}
	}
	return true
}

// Rebuilder compares and mends.
type Rebuilder struct {
	Activities *activities.Activities
	// Dry compares only.
	Dry bool
	// Report is told of every run that is not the same, one at a time.
	Report func(Finding)

	mu      sync.Mutex
	summary Summary
	// seen are the open runs that Temporal has.
	seen map[[2]string]bool
}

const (
	// sideBySide is how many runs are compared at once.
	sideBySide = 8
	// lookAgain is after how long a run that is not the same is compared once more:
	// a write may be under way.
	lookAgain = time.Second
	// pageSize of runs that are listed.
	pageSize = 500
)

// Run compares every run that Temporal's namespace has, open or closed within its
// retention, and then every open run that Postgres has. The workflows are asked by
// query, so a server must be running. It may be run while callers write, as often
// as one likes, and ended at any moment: what it has mended stays mended. An error
// means that the runs could not be listed.
func (r *Rebuilder) Run(ctx context.Context) (Summary, error) {
	r.summary, r.seen = Summary{Found: map[string]int{}}, map[[2]string]bool{}
	if err := r.fromTemporal(ctx); err != nil {
		return r.summary, err
	}
	return r.summary, r.fromPostgres(ctx)
}

func (r *Rebuilder) fromTemporal(ctx context.Context) error {
	query := fmt.Sprintf(`WorkflowType = '%s' AND ExecutionStatus != 'ContinuedAsNew'`, workflows.TypeRun)
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(sideBySide)
	var token []byte
	for {
		page, err := r.Activities.Service.Temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: query, PageSize: pageSize, NextPageToken: token,
		})
		if err != nil {
			return errors.Join(fmt.Errorf("list the workflows: %w", err), g.Wait())
		}
		for _, e := range page.Executions {
			org, runID, ok := workflows.ParseWorkflowID(e.GetExecution().GetWorkflowId())
			if !ok {
				continue
			}
			r.mu.Lock()
			again := r.seen[[2]string{org, runID}]
			r.seen[[2]string{org, runID}] = true
			r.mu.Unlock()
			if again { // reset: an earlier run of the same workflow
				continue
			}
			g.Go(func() error {
				r.add(r.compare(each, org, runID, e.GetStatus()))
				return each.Err()
			})
		}
		if token = page.NextPageToken; len(token) == 0 {
			return g.Wait()
		}
	}
}

// fromPostgres finds the open runs that Temporal did not list.
func (r *Rebuilder) fromPostgres(ctx context.Context) error {
	var last *records.ActiveRun
	for {
		page, err := records.Active(ctx, r.Activities.Service.Pool, last, pageSize)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, a := range page {
			if r.seen[[2]string{a.Org, a.RunID}] {
				continue
			}
			// Temporal's list lags behind: the workflow itself is asked.
			r.add(r.compare(ctx, a.Org, a.RunID, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING))
		}
		last = &page[len(page)-1]
	}
}

func (r *Rebuilder) add(f Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Runs++
	r.summary.Found[f.Found]++
	if f.Found != Same && r.Report != nil {
		r.Report(f)
	}
}

// compare compares one run with its workflow, and mends what it may.
func (r *Rebuilder) compare(ctx context.Context, org, runID string, status enumspb.WorkflowExecutionStatus) Finding {
	f, latest, err := r.look(ctx, org, runID, status)
	if err == nil && f.Found != Same {
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
		}
		f, latest, err = r.look(ctx, org, runID, status)
	}
	if err == nil && !r.Dry && latest != nil && f.Found != Ahead {
		err = r.mend(ctx, f, latest)
		f.Mended = err == nil && f.Found != Same
	}
	if err == nil && endedByOthers(status) && latest != nil && !latest.Over() && f.Found != Ahead && !f.over {
		f.Found = Closed
		if !r.Dry {
			err = r.Activities.SettleRun(ctx, org, runID)
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
func (r *Rebuilder) look(ctx context.Context, org, runID string, status enumspb.WorkflowExecutionStatus) (f Finding, latest *run.Run, err error) {
	f = Finding{Org: org, RunID: runID, Found: Same}
	pool := r.Activities.Service.Pool
	latest, err = r.Activities.Query(ctx, workflows.WorkflowID(org, runID))
	if activities.IsNotFound(err) {
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
	if latest.Process, err = r.Activities.Service.Process(ctx, org, latest.Record.Process, latest.Version); err != nil {
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

// mend stores what the workflow knows: its record, and the outcomes of the writes
// that it remembers, for the ledger.
func (r *Rebuilder) mend(ctx context.Context, f Finding, latest *run.Run) error {
	if f.Found == Differs {
		if err := records.Outdate(ctx, r.Activities.Service.Pool, f.Org, f.RunID, f.RecordSeq); err != nil {
			return err
		}
	}
	return r.Activities.Service.Store(ctx, workflows.Projection{Record: latest.Record, Requests: latest.Requests})
}
