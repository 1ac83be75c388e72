package records_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/records"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var noon = time.Date(2025, 10, 6, 12, 0, 0, 123456000, time.UTC)

// row is a run in its first state, started at noon.
func row(org, runID string) records.Row {
	return records.Row{Org: org, RunID: runID, Seq: 1, Process: "p", Version: 3, State: "active",
		StartedAt: noon, UpdatedAt: noon, Inputs: []byte(`{"a":"\u0000","n":12345678901234567890.123456789}`),
		Files: []string{}, Record: []byte(`{"r":1e400}`)}
}

func with(r records.Row, change func(*records.Row)) records.Row {
	change(&r)
	return r
}

func step(key string, available time.Time) records.Work {
	return records.Work{Key: key, Agent: true, StepID: "step_" + key, Process: "p", Available: available}
}

func item(key, assignee string, available time.Time) records.Work {
	return records.Work{Key: key, StepID: "step_" + key, Process: "p", Available: available, Assignee: assignee}
}

func applyAll(ctx context.Context, db postgres.DB, rows ...records.Row) error {
	for _, r := range rows {
		b := &pgx.Batch{}
		records.QueueApply(b, r)
		if err := db.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
	}
	return nil
}

func apply(t *testing.T, pool *pgxpool.Pool, rows ...records.Row) {
	t.Helper()
	require.NoError(t, applyAll(t.Context(), pool, rows...))
}

func look(t *testing.T, pool *pgxpool.Pool, org, runID string) (*records.Row, time.Time) {
	t.Helper()
	into, now := &records.Row{}, time.Time{}
	b := &pgx.Batch{}
	records.QueueLook(b, org, runID, &into, &now)
	require.NoError(t, pool.SendBatch(t.Context(), b).Close())
	return into, now
}

func agentKeys(t *testing.T, pool *pgxpool.Pool, q records.WorkQuery) (keys []string) {
	t.Helper()
	if q.Org == "" {
		q.Org = "o"
	}
	if q.Limit == 0 {
		q.Limit = 100
	}
	found, err := records.AgentWork(t.Context(), pool, q)
	require.NoError(t, err)
	return keysOf(found)
}

func keysOf(found []records.Found) (keys []string) {
	for _, f := range found {
		keys = append(keys, f.RunID+"/"+f.Key)
	}
	return keys
}

// explained runs queries and keeps how Postgres ran them.
type explained struct {
	*pgxpool.Pool
	plan planNode
}

type planNode struct {
	NodeType string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Index    string     `json:"Index Name"`
	Rows     float64    `json:"Actual Rows"`
	Loops    float64    `json:"Actual Loops"`
	Removed  float64    `json:"Rows Removed by Filter"`
	Rechecks float64    `json:"Rows Removed by Index Recheck"`
	Plans    []planNode `json:"Plans"`
}

func (e *explained) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	var text []byte
	if err := e.Pool.QueryRow(ctx, `EXPLAIN (ANALYZE, FORMAT JSON) `+sql, args...).Scan(&text); err != nil {
		return nil, err
	}
	var plans []struct{ Plan planNode }
	if err := json.Unmarshal(text, &plans); err != nil {
		return nil, err
	}
	e.plan = plans[0].Plan
	return e.Pool.Query(ctx, sql, args...)
}

// read returns how many rows of a table were looked at, and how.
func (n planNode) read(table string) (rows float64, how []string) {
	if n.Relation == table {
		rows = (n.Rows + n.Removed + n.Rechecks) * n.Loops
		how = append(how, fmt.Sprintf("%s %s", n.NodeType, n.Index))
	}
	for _, p := range n.Plans {
		r, h := p.read(table)
		rows += r
		how = append(how, h...)
	}
	return rows, how
}
