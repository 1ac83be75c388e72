package activities_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/agentprocess-temporal/server/activities"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var quiet = tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))

// world is a running server, and a reconciler that passes when the test says so.
type world struct {
	*Server
	t    testing.TB
	c    client.Client
	pool *pgxpool.Pool
	log  *Lines
	env  *testsuite.TestActivityEnvironment
	acts *activities.Activities
}

const process = `---
name: p
description: d.
steps:
  - { id: first, agent: Do it., next: second }
  - { id: second, agent: Do it too., next: end }
  - { id: end, finish: done }
---
`

func newWorld(t testing.TB) *world {
	w := &world{Server: Start(t), t: t, log: &Lines{}}
	var err error
	w.c, err = client.Dial(client.Options{HostPort: w.Temporal.Address, Namespace: w.Temporal.Namespace, Logger: quiet})
	require.NoError(t, err)
	t.Cleanup(w.c.Close)
	w.pool = w.Pool()
	log := slog.New(slog.NewTextHandler(w.log, nil))
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet)
	w.env = suite.NewTestActivityEnvironment()
	w.acts = &activities.Activities{Log: log, Service: &operations.Service{
		Config: operations.Config{Namespace: w.Temporal.Namespace}, Pool: w.pool, Temporal: w.c, Log: log,
	}}
	w.acts.Register(w.env)
	w.Publish(process, nil)
	return w
}

// pass has the reconciler pass once, over all that ever closed.
func (w *world) pass() {
	w.t.Helper()
	_, err := w.env.ExecuteActivity(workflows.ActivityReconcile, workflows.Reconciled{})
	require.NoError(w.t, err)
}

func (w *world) begin() string {
	return Must[run.View](w.Server, Mira, "start_run", Args{"process": "p", "inputs": Args{}, "requestId": ID()}).Run.ID
}

func (w *world) claim(args Args) string {
	w.t.Helper()
	return Must[struct{ Token string }](w.Server, A1, "claim", args).Token
}

// logged reports whether a line with all these words was logged.
func (w *world) logged(words ...string) bool {
	lines, _ := w.log.All()
	return slices.ContainsFunc(lines, func(line string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) })
	})
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	tag, err := w.pool.Exec(context.Background(), sql, args...)
	require.NoError(w.t, err)
	require.EqualValues(w.t, 1, tag.RowsAffected(), sql)
}

func (w *world) stored(id string) (text []byte, record run.Record) {
	w.t.Helper()
	require.NoError(w.t, w.pool.QueryRow(context.Background(), `SELECT record FROM runs WHERE run_id = $1`, id).Scan(&text))
	require.NoError(w.t, json.Unmarshal(text, &record))
	return text, record
}

// forget makes Postgres as it was before a write was applied: the record is the
// one before, and the request is pending and long overdue.
func (w *world) forget(id, requestID string, before []byte) {
	w.t.Helper()
	var record run.Record
	require.NoError(w.t, json.Unmarshal(before, &record))
	w.exec(`UPDATE runs SET seq = $2, record = $3, state = $4 WHERE run_id = $1`, id, record.Seq, before, string(record.State))
	w.exec(`UPDATE requests SET done = false, result = NULL, not_after = now() - interval '5 minutes' WHERE request_id = $1`, requestID)
}

// request is a row of the ledger: none, pending or done.
func (w *world) request(requestID string) string {
	w.t.Helper()
	state := "none"
	rows, err := w.pool.Query(context.Background(), `SELECT done FROM requests WHERE request_id = $1`, requestID)
	require.NoError(w.t, err)
	defer rows.Close()
	for rows.Next() {
		var done bool
		require.NoError(w.t, rows.Scan(&done))
		state = map[bool]string{true: "done", false: "pending"}[done]
	}
	return state
}
