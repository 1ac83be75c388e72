package server_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/agentprocess-temporal/server/activities"
	"github.com/agentprocess-temporal/server/internal/rebuild"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

const handover = `---
name: handover
description: d.
steps:
  - { id: work, agent: Do it., next: agree }
  - { id: agree, person: role, approve: Good?, on_reject: work, next: end }
  - { id: end, finish: done }
---
`

// stores is a server whose stores a test brings apart.
type stores struct {
	*Server
	t  *testing.T
	db *pgx.Conn
	c  client.Client
}

func startStores(t *testing.T) *stores {
	s := &stores{Server: Start(t), t: t}
	s.Publish(handover, map[string]string{"role": "finance"})
	var err error
	s.db, err = pgx.Connect(t.Context(), s.DSN)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.db.Close(context.Background()) })
	s.c, err = client.Dial(client.Options{HostPort: s.Temporal.Address, Namespace: s.Temporal.Namespace})
	require.NoError(t, err)
	t.Cleanup(s.c.Close)
	return s
}

func (s *stores) exec(sql string) {
	s.t.Helper()
	_, err := s.db.Exec(s.t.Context(), sql)
	require.NoError(s.t, err, sql)
}

// rows are all rows of a table, as text.
func (s *stores) rows(table string) []string {
	s.t.Helper()
	rows, err := s.db.Query(s.t.Context(), `SELECT x::text FROM `+table+` x ORDER BY 1`)
	require.NoError(s.t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(s.t, err)
	return all
}

// rebuilt rebuilds, and returns the finding of each run that was not the same.
func (s *stores) rebuilt(dry bool) (rebuild.Summary, map[string]activities.Finding) {
	s.t.Helper()
	found := map[string]activities.Finding{}
	o := server.Options{Postgres: s.DSN, Temporal: client.Options{HostPort: s.Temporal.Address, Namespace: s.Temporal.Namespace}, Log: slog.New(slog.DiscardHandler)}
	summary, err := server.Rebuild(s.t.Context(), o, dry, func(f activities.Finding) { found[f.RunID] = f })
	require.NoError(s.t, err)
	return summary, found
}

func (s *stores) begin() string {
	return Must[run.View](s.Server, Mira, "start_run", Args{"process": "handover", "inputs": Args{}, "requestId": ID()}).Run.ID
}

// claim claims a run's first step.
func (s *stores) claim(id string) (args Args, answer json.RawMessage, token string) {
	s.t.Helper()
	args = Args{"runId": id, "stepId": "work", "requestId": ID()}
	answer = Must[json.RawMessage](s.Server, A1, "claim", args)
	var c claimed
	require.NoError(s.t, json.Unmarshal(answer, &c))
	return args, answer, c.Token
}

func (s *stores) submit(token string) {
	Must[run.View](s.Server, A1, "submit", Args{"token": token, "output": Args{}, "summary": "x", "requestId": ID()})
}

func (s *stores) decide(id, decision string) {
	s.t.Helper()
	item := Must[run.View](s.Server, Mira, "get_run", Args{"runId": id}).WorkItems[0]
	Must[run.View](s.Server, Mira, "decide", Args{
		"runId": id, "workItemId": item.ID, "snapshot": item.Snapshot, "decision": decision, "note": "x", "requestId": ID(),
	})
}

// some makes runs in every state, and returns a claim to be repeated.
func (s *stores) some() (claim Args, answer json.RawMessage) {
	s.begin()
	claim, answer, _ = s.claim(s.begin())
	_, _, token := s.claim(s.begin())
	Must[run.View](s.Server, A1, "escalate", Args{"token": token, "note": "x", "requestId": ID()})
	asked, rejected, done := s.begin(), s.begin(), s.begin()
	for _, id := range []string{asked, rejected, done} {
		_, _, token := s.claim(id)
		s.submit(token)
	}
	s.decide(rejected, "rejected")
	s.decide(done, "approved")
	Must[run.View](s.Server, Boss, "cancel", Args{"runId": s.begin(), "reason": "x", "requestId": ID()})
	// Runs that are over have stored themselves once their workflows have closed.
	for _, status := range []string{"Completed"} {
		require.Eventually(s.t, func() bool {
			n, err := s.c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{
				Query: `WorkflowType = 'ProcessRun' AND ExecutionStatus = '` + status + `'`,
			})
			return err == nil && n.Count >= 2
		}, time.Minute, 50*time.Millisecond)
	}
	return claim, answer
}

func TestTheReadModelIsMadeAgainFromTemporal(t *testing.T) {
	s := startStores(t)
	claim, answer := s.some()
	runs, work := s.rows("runs"), s.rows("work")
	require.Len(t, runs, 7)

	summary, found := s.rebuilt(true)
	require.Empty(t, found)
	require.Equal(t, rebuild.Summary{Runs: 7, Found: map[string]int{activities.Same: 7}}, summary)

	s.exec(`TRUNCATE runs, work`)
	s.exec(`DELETE FROM requests`)
	summary, _ = s.rebuilt(true)
	require.Equal(t, map[string]int{activities.Missing: 7}, summary.Found)
	require.False(t, summary.Whole(true))
	require.Empty(t, s.rows("runs"), "a dry run stores nothing")

	summary, found = s.rebuilt(false)
	require.Equal(t, map[string]int{activities.Missing: 7}, summary.Found)
	require.True(t, summary.Whole(false))
	for _, f := range found {
		require.True(t, f.Mended)
	}
	require.Equal(t, runs, s.rows("runs"))
	require.Equal(t, work, s.rows("work"))
	require.JSONEq(t, string(answer), string(Must[json.RawMessage](s.Server, A1, "claim", claim)), "the ledger knows recent writes again")

	summary, _ = s.rebuilt(false)
	require.Equal(t, map[string]int{activities.Same: 7}, summary.Found, "a second time there is nothing to do")
}

func TestWhatDiffersAtTheSameWriteIsMadeAsTheWorkflowHasIt(t *testing.T) {
	s := startStores(t)
	s.some()
	runs, work := s.rows("runs"), s.rows("work")
	s.exec(`UPDATE runs SET record = replace(convert_from(record, 'UTF8'), 'handover', 'handedover')::bytea WHERE state = 'active'`)
	s.exec(`DELETE FROM work WHERE NOT agent`)
	summary, _ := s.rebuilt(false)
	require.Positive(t, summary.Found[activities.Differs])
	require.True(t, summary.Whole(false))
	require.Equal(t, runs, s.rows("runs"))
	require.Equal(t, work, s.rows("work"))
}

func TestAPostgresRestoredFromAnEarlierMomentCatchesUp(t *testing.T) {
	s := startStores(t)
	known, ending := s.begin(), s.begin()
	_, _, token := s.claim(ending)
	s.submit(token)
	tables := []string{"runs", "work", "requests"}
	for _, table := range tables { // the backup
		s.exec(`CREATE TABLE old_` + table + ` AS TABLE ` + table)
	}
	claim, answer, token := s.claim(known)
	s.submit(token)
	s.decide(ending, "approved")
	later := s.begin()
	require.NoError(t, s.c.GetWorkflow(t.Context(), workflows.WorkflowID("acme", ending), "").Get(t.Context(), nil))
	runs, work := s.rows("runs"), s.rows("work")

	for _, table := range tables { // and its return
		s.exec(`TRUNCATE ` + table)
		s.exec(`INSERT INTO ` + table + ` SELECT * FROM old_` + table)
	}
	_ = s.Refused(run.NotFound, Mira, "get_run", Args{"runId": later})
	summary, found := s.rebuilt(false)
	require.True(t, summary.Whole(false))
	require.Equal(t, activities.Behind, found[known].Found)
	require.Equal(t, activities.Behind, found[ending].Found)
	require.Equal(t, activities.Missing, found[later].Found)
	require.Equal(t, runs, s.rows("runs"))
	require.Equal(t, work, s.rows("work"))
	// A claim of the time between is answered again, with the run data of now.
	var before claimed
	require.NoError(t, json.Unmarshal(answer, &before))
	again := Must[claimed](s.Server, A1, "claim", claim)
	require.Equal(t, before.Token, again.Token)
	s.decide(known, "approved")
}

func TestATemporalRestoredToAnEarlierMomentIsReportedAndOverwritesNothing(t *testing.T) {
	s := startStores(t)
	ahead, unknown, fine := s.begin(), s.begin(), s.begin()
	_, _, token := s.claim(ahead)
	s.submit(token)
	runs := s.rows("runs")
	_, err := s.c.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: s.Temporal.Namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflows.WorkflowID("acme", ahead)},
		Reason: "test", WorkflowTaskFinishEventId: 4, RequestId: ID(),
		ResetReapplyExcludeTypes: []enumspb.ResetReapplyExcludeType{enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE},
	})
	require.NoError(t, err)
	_, err = s.c.WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: s.Temporal.Namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflows.WorkflowID("acme", unknown)},
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := s.c.DescribeWorkflow(context.Background(), workflows.WorkflowID("acme", unknown), "")
		return err != nil
	}, time.Minute, 50*time.Millisecond)

	summary, found := s.rebuilt(false)
	require.False(t, summary.Whole(false))
	require.Equal(t, activities.Ahead, found[ahead].Found)
	require.Greater(t, found[ahead].RecordSeq, found[ahead].WorkflowSeq)
	require.Equal(t, activities.Unknown, found[unknown].Found)
	require.NotContains(t, found, fine)
	require.Equal(t, runs, s.rows("runs"), "what callers were told stays")
	view := Must[run.View](s.Server, Mira, "get_run", Args{"runId": ahead})
	require.Len(t, view.WorkItems, 1)
}

func TestARunWhoseWorkflowWasTerminatedIsCancelledByARebuildToo(t *testing.T) {
	s := startStores(t)
	id := s.begin()
	require.NoError(t, s.c.TerminateWorkflow(t.Context(), workflows.WorkflowID("acme", id), "", "test"))
	s.exec(`TRUNCATE runs, work`)
	require.Eventually(t, func() bool {
		n, err := s.c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{Query: `WorkflowType = 'ProcessRun' AND ExecutionStatus = 'Terminated'`})
		return err == nil && n.Count == 1
	}, time.Minute, 50*time.Millisecond)
	summary, found := s.rebuilt(false)
	require.True(t, summary.Whole(false), "%v", found)
	require.Equal(t, activities.Closed, found[id].Found)
	require.Equal(t, run.Cancelled, Must[run.View](s.Server, Mira, "get_run", Args{"runId": id}).Run.State)
	summary, _ = s.rebuilt(false)
	require.Equal(t, map[string]int{activities.Same: 1}, summary.Found)
}
