package records_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/records"
)

// A page costs what it shows: with 100,000 rows available, no list looks at
// many more rows than it returns.
func TestAListLooksAtNoMoreThanItShows(t *testing.T) {
	if testing.Short() {
		t.Skip("fills tables with 100,000 rows")
	}
	db := &explained{Pool: testenv.Pool(t)}
	fill(t, db.Pool)

	const limit = 50
	middle := &records.Cursor{Available: noon.Add(50_000 * time.Second), RunID: "r050000", Key: "s"}
	few, many := []string{"p3", "p4"}, []string{"group:1", "group:2", "person:mira@example.com", "group:none"}
	agent := func(q records.WorkQuery) func() (int, error) {
		return func() (int, error) {
			q.Org, q.Limit = "o", limit
			found, err := records.AgentWork(t.Context(), db, q)
			return len(found), err
		}
	}
	person := func(process string, after *records.Cursor) func() (int, error) {
		return func() (int, error) {
			found, err := records.PersonWork(t.Context(), db, "o", many, process, after, limit)
			return len(found), err
		}
	}
	runs := func(q records.RunsQuery) func() (int, error) {
		return func() (int, error) {
			q.Org, q.Limit = "o", limit
			found, err := records.ListRuns(t.Context(), db, q)
			return len(found), err
		}
	}
	started := &records.RunsCursor{StartedAt: noon.Add(50_000 * time.Second), RunID: "r050000"}
	lists := []struct {
		name  string
		list  func() (int, error)
		shown int
		parts int // lists that are merged
	}{
		{"agent work", agent(records.WorkQuery{}), limit, 1},
		{"agent work, in the middle", agent(records.WorkQuery{After: middle}), limit, 1},
		{"agent work of a process", agent(records.WorkQuery{Process: "p3"}), limit, 1},
		{"agent work of allowed processes", agent(records.WorkQuery{Processes: few, After: middle}), limit, 2},
		{"agent work of an unknown process", agent(records.WorkQuery{Process: "none"}), 0, 1},
		{"a person's work", person("", nil), limit, 4},
		{"a person's work, in the middle", person("", middle), limit, 4},
		{"a person's work of a process", person("p3", middle), limit, 4},
		{"a person's work of a process with none", person("none", nil), 0, 4},
		{"runs", runs(records.RunsQuery{}), limit, 1},
		{"runs, in the middle", runs(records.RunsQuery{After: started}), limit, 1},
		{"runs of a process", runs(records.RunsQuery{Process: "p3", After: started}), limit, 1},
		{"runs in a state", runs(records.RunsQuery{State: "waiting"}), limit, 1},
		{"runs with a rare input", runs(records.RunsQuery{InputKeys: []string{"n=77"}}), 1, 1},
		{"active runs", func() (int, error) {
			found, err := records.Active(t.Context(), db, &records.ActiveRun{Org: "o", RunID: "r050000"}, limit)
			return len(found), err
		}, limit, 1},
	}
	for _, c := range lists {
		t.Run(c.name, func(t *testing.T) {
			shown, err := c.list()
			require.NoError(t, err)
			require.Equal(t, c.shown, shown)
			for _, table := range []string{"work", "runs"} {
				read, how := db.plan.read(table)
				require.LessOrEqual(t, read, float64((limit+1)*c.parts), "rows of %s read by %v", table, how)
				require.NotContains(t, fmt.Sprint(how), "Seq Scan", table)
			}
		})
	}
}

// fill makes 100,000 runs in one organization, each with a step and an item that
// are available, and as many in others. Postgres knows about them, as it does a
// minute after they came.
func fill(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	exec(t, pool, `INSERT INTO runs (org, run_id, seq, process, version, state, started_at, updated_at, inputs, input_keys, files, record)
		SELECT CASE WHEN o = 0 THEN 'o' ELSE 'other' || i % 50 END, 'r' || lpad(i::text, 6, '0'), 1, 'p' || i % 10, 1,
			CASE WHEN i % 3 = 0 THEN 'waiting' WHEN i % 3 = 1 THEN 'active' ELSE 'ended' END,
			$1::timestamptz + i * interval '1 s', $1, '', ARRAY[substr(sha256(convert_to('o', 'UTF8') || '\x00' || convert_to('n=' || i, 'UTF8')), 1, 16)],
			'{}', convert_to(repeat('x', 300), 'UTF8')
		FROM generate_series(0, 99999) i, generate_series(0, 1) o`, noon)
	exec(t, pool, `INSERT INTO work (org, run_id, key, agent, step_id, process, available, assignee)
		SELECT org, run_id, CASE WHEN a THEN 's' ELSE 'w' END, a, 's', process, started_at,
			CASE WHEN a THEN '' WHEN seq = 1 AND right(run_id, 1) < '5' THEN 'group:1'::bytea ELSE 'person:mira@example.com'::bytea END
		FROM runs, (VALUES (true), (false)) k (a)`)
	exec(t, pool, `ANALYZE runs, work`)
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}
