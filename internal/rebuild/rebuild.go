package rebuild

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/activities"
	"github.com/agentprocess-temporal/server/records"
	"github.com/agentprocess-temporal/server/workflows"
)

// Summary counts the findings.
type Summary struct {
	Runs  int            `json:"runs"`
	Found map[string]int `json:"found"`
}

// Whole reports whether nothing is left to mend or to decide.
func (s Summary) Whole(dry bool) bool {
	for what, n := range s.Found {
		if n > 0 && what != activities.Same && (dry || !slices.Contains(activities.Mended, what)) {
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
	Report func(activities.Finding)

	mu      sync.Mutex
	summary Summary
	// seen are the open runs that Temporal has.
	seen map[[2]string]bool
}

const (
	// sideBySide is how many runs are compared at once.
	sideBySide = 8
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
				r.add(r.Activities.Compare(each, org, runID, e.GetStatus(), r.Dry))
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
			r.add(r.Activities.Compare(ctx, a.Org, a.RunID, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, r.Dry))
		}
		last = &page[len(page)-1]
	}
}

func (r *Rebuilder) add(f activities.Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Runs++
	r.summary.Found[f.Found]++
	if f.Found != activities.Same && r.Report != nil {
		r.Report(f)
	}
}
