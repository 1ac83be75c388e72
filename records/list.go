package records

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agentprocess-temporal/server/internal/postgres"
)

// RunsCursor is a place in a list of runs: behind the run with these values.
type RunsCursor struct {
	StartedAt time.Time
	RunID     string
}

// RunsQuery asks for runs. Empty filters match everything.
type RunsQuery struct {
	Org, Process string
	// State is the state last stored: a timer may have changed the run since.
	State string
	// InputKeys must all be among the run's.
	InputKeys []string
	// After is the end of the page before, nil for the first page.
	After *RunsCursor
	Limit int
}

// ListRuns lists runs, the last started first (spec tools, list_runs).
func ListRuns(ctx context.Context, pool postgres.DB, q RunsQuery) ([]Row, error) {
	query, args := q.sql()
	rows, err := pool.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("records: list runs: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanRow)
	if err != nil {
		return nil, fmt.Errorf("records: list runs: %w", err)
	}
	return found, nil
}

func (q RunsQuery) sql() (query string, args []any) {
	query, args = `SELECT `+rowColumns+` FROM runs r WHERE org = $1`, []any{pgx.QueryExecModeCacheDescribe, q.Org}
	// The mode is no parameter, so the length is the number of the next one.
	next := func(value any) string {
		args = append(args, value)
		return "$" + strconv.Itoa(len(args)-1)
	}
	if q.Process != "" {
		query += ` AND process = ` + next(q.Process)
	}
	if q.State != "" {
		query += ` AND state = ` + next(q.State)
	}
	if len(q.InputKeys) > 0 {
		query += ` AND input_keys @> ` + next(digests(q.Org, q.InputKeys))
	}
	if q.After != nil {
		query += ` AND (started_at, run_id) < (` + next(q.After.StartedAt) + `, ` + next(q.After.RunID) + `)`
	}
	return query + ` ORDER BY started_at DESC, run_id DESC LIMIT ` + next(q.Limit), args
}

// ActiveRun names a run that is not over.
type ActiveRun struct {
	Org, RunID string
	Seq        int64
}

// Active returns up to limit runs of all organizations that are not over,
// ordered by organization and id, behind the given one (nil to begin).
func Active(ctx context.Context, pool postgres.DB, after *ActiveRun, limit int) ([]ActiveRun, error) {
	if after == nil {
		after = &ActiveRun{}
	}
	rows, err := pool.Query(ctx, `SELECT org, run_id, seq FROM runs
		WHERE state NOT IN ('ended', 'cancelled') AND (org, run_id) > ($1, $2)
		ORDER BY org, run_id LIMIT $3`, pgx.QueryExecModeCacheDescribe, after.Org, after.RunID, limit)
	if err != nil {
		return nil, fmt.Errorf("records: active: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ActiveRun, error) {
		var a ActiveRun
		err := row.Scan(&a.Org, &a.RunID, &a.Seq)
		return a, err
	})
	if err != nil {
		return nil, fmt.Errorf("records: active: %w", err)
	}
	return found, nil
}
