package operations

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/records"
)

type listRunsArguments struct {
	Process string          `json:"process"`
	State   string          `json:"state"`
	Inputs  json.RawMessage `json:"inputs"`
	Limit   *json.Number    `json:"limit"`
	Cursor  string          `json:"cursor"`
}

type runItem struct {
	ID        string          `json:"id"`
	Process   string          `json:"process"`
	Version   int             `json:"version"`
	State     string          `json:"state"`
	Outcome   *string         `json:"outcome"`
	StartedAt time.Time       `json:"startedAt"`
	UpdatedAt time.Time       `json:"updatedAt"`
	Inputs    json.RawMessage `json:"inputs"`
}

// listRuns lists runs, the last started first (tools list_runs).
func (s *Service) listRuns(ctx context.Context, caller identity.Caller, a listRunsArguments) (any, error) {
	after, err := readCursor[records.RunsCursor](a.Cursor)
	if err != nil {
		return nil, err
	}
	result := page[runItem]{Items: []runItem{}}
	if !postgres.ValidText(a.Process) {
		return result, nil
	}
	q := records.RunsQuery{Org: caller.Org, Process: a.Process, State: a.State, After: after}
	if len(a.Inputs) > 0 {
		if q.InputKeys, err = inputKeys(a.Inputs); err != nil {
			return nil, err
		}
	}
	limit := limitOf(a.Limit)
	q.Limit = limit + 1
	rows, err := records.ListRuns(ctx, s.Pool, q)
	if err != nil {
		return nil, err
	}
	if len(rows) > limit {
		rows = rows[:limit]
		result.NextCursor = writeCursor(records.RunsCursor{StartedAt: rows[limit-1].StartedAt, RunID: rows[limit-1].RunID})
	}
	for _, r := range rows {
		result.Items = append(result.Items, runItem{
			ID: r.RunID, Process: r.Process, Version: r.Version, State: r.State, Outcome: r.Outcome,
			StartedAt: r.StartedAt, UpdatedAt: r.UpdatedAt, Inputs: r.Inputs,
		})
	}
	return result, nil
}
