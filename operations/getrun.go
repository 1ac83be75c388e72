package operations

import (
	"context"
	"time"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/records"
	"github.com/agentprocess-temporal/server/run"
)

type getRunArguments struct {
	RunID string `json:"runId"`
}

// getRun shows a run as of now: a deadline that has passed counts as passed,
// whether or not the run has noticed yet (tools get_run).
func (s *Service) getRun(ctx context.Context, caller identity.Caller, a getRunArguments) (any, error) {
	if !postgres.ValidText(a.RunID) {
		return nil, run.Refuse(run.NotFound, "no such run")
	}
	var row *records.Row
	var now time.Time
	b := newBatch()
	records.QueueLook(b, caller.Org, a.RunID, &row, &now)
	if err := s.Pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	if row == nil {
		return nil, run.Refuse(run.NotFound, "no such run")
	}
	r, err := s.open(ctx, caller.Org, row.Record)
	if err != nil {
		return nil, err
	}
	r.Advance(now)
	return r.View().WithURLs(s.urls(caller.Org)), nil
}
