package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// live is a running server, and a client of the Temporal behind it.
type live struct {
	*Server
	t    testing.TB
	c    client.Client
	pool func() *pgxpool.Pool
}

func startLive(t testing.TB, adjust ...func(*server.Options)) *live {
	s := &live{Server: Start(t, adjust...), t: t}
	s.pool = sync.OnceValue(s.Pool)
	var err error
	s.c, err = client.Dial(client.Options{HostPort: s.Temporal.Address, Namespace: s.Temporal.Namespace, Identity: "test", Logger: quiet})
	require.NoError(t, err)
	t.Cleanup(s.c.Close)
	return s
}

// begin publishes a process and starts a run of it.
func (s *live) begin(front string, inputs Args, more ...Args) string {
	roles := map[string]string{}
	if strings.Contains(front, "person: who") {
		roles["who"] = "finance"
	}
	s.Publish("---\nname: p\ndescription: d.\n"+front+"\n---\n", roles)
	if inputs == nil {
		inputs = Args{}
	}
	args := Args{"process": "p", "inputs": inputs, "requestId": ID()}
	for _, m := range more {
		for k, v := range m {
			args[k] = v
		}
	}
	return Must[run.View](s.Server, Mira, "start_run", args).Run.ID
}

func (s *live) claim(id, step string) string {
	return Must[struct{ Token string }](s.Server, A1, "claim", Args{"runId": id, "stepId": step, "requestId": ID()}).Token
}

func (s *live) submit(token string) {
	Must[run.View](s.Server, A1, "submit", Args{"token": token, "summary": "Did it.", "output": Args{}, "requestId": ID()})
}

func (s *live) cancel(id string) {
	Must[run.View](s.Server, Boss, "cancel", Args{"runId": id, "reason": "enough", "requestId": ID()})
}

// history is the events of the run's latest workflow run so far.
func (s *live) history(id string) []*historypb.HistoryEvent {
	s.t.Helper()
	return s.historyOf(id, "")
}

func (s *live) historyOf(id, workflowRun string) []*historypb.HistoryEvent {
	s.t.Helper()
	return s.events(workflows.WorkflowID("acme", id), workflowRun)
}

func (s *live) events(workflowID, workflowRun string) []*historypb.HistoryEvent {
	s.t.Helper()
	var events []*historypb.HistoryEvent
	all := s.c.GetWorkflowHistory(context.Background(), workflowID, workflowRun, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for all.HasNext() {
		e, err := all.Next()
		require.NoError(s.t, err)
		events = append(events, e)
	}
	return events
}

// closed waits until the run's workflow has closed.
func (s *live) closed(id string) error {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.c.GetWorkflow(ctx, workflows.WorkflowID("acme", id), "").Get(ctx, nil)
}

// stored is the record in Postgres, as it was stored.
func (s *live) stored(id string) *run.Record {
	s.t.Helper()
	var record []byte
	err := s.pool().QueryRow(context.Background(), `SELECT record FROM runs WHERE org = 'acme' AND run_id = $1`, id).Scan(&record)
	if err != nil {
		return nil
	}
	r := new(run.Record)
	require.NoError(s.t, json.Unmarshal(record, r))
	return r
}

func count(events []*historypb.HistoryEvent, types ...enumspb.EventType) (n int) {
	for _, e := range events {
		for _, t := range types {
			if e.EventType == t {
				n++
			}
		}
	}
	return n
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, 20*time.Second, 20*time.Millisecond, what)
}

func chain(n int) string {
	var b strings.Builder
	b.WriteString("steps:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - { id: s%d, agent: Do it., next: %s }\n", i, map[bool]string{true: fmt.Sprint("s", i+1), false: "end"}[i < n-1])
	}
	b.WriteString("  - { id: end, finish: done }")
	return b.String()
}

func TestTwentyClaimsAndSubmissionsAddFewEventsAndNoActivity(t *testing.T) {
	s := startLive(t)
	const n = 20
	id := s.begin(chain(n), nil)
	started := s.history(id)
	require.Zero(t, count(started, enumspb.EVENT_TYPE_TIMER_STARTED), "the start update came with the start")
	require.Equal(t, 1, count(started, enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED))

	var token string
	for i := range n {
		token = s.claim(id, fmt.Sprint("s", i))
		if i < n-1 {
			s.submit(token)
		}
	}
	events := s.history(id)
	require.LessOrEqual(t, len(events)-len(started), 6*(2*n-1))
	require.Zero(t, count(events, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_TIMER_CANCELED, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED))
	require.Equal(t, 1, count(events, enumspb.EVENT_TYPE_TIMER_STARTED), "of the first lease, for all")
	require.Equal(t, 2*n-1, count(events, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED)-1)
	t.Logf("%.2f events a write", float64(len(events)-len(started))/(2*n-1))

	s.submit(token)
	require.NoError(t, s.closed(id))
	require.Equal(t, 1, count(s.history(id), enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED), "stored before it closed")
}

func TestAWorkflowStartedWithoutItsUpdateAppearsInTheRecords(t *testing.T) {
	s := startLive(t)
	s.Publish("---\nname: p\ndescription: d.\n"+twoSteps+"\n---\n", nil)
	in := input(t, run.Live, twoSteps)
	_, err := s.c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: workflows.WorkflowID("acme", in.Start.RunID), TaskQueue: "agentprocess",
	}, workflows.TypeRun, in)
	require.NoError(t, err)
	eventually(t, "the record", func() bool { return s.stored(in.Start.RunID) != nil })
	events := s.history(in.Start.RunID)
	require.Equal(t, 1, count(events, enumspb.EVENT_TYPE_TIMER_FIRED))
	s.cancel(in.Start.RunID)
}

func TestDeadlinesOfARunThatNobodyLooksAtAreStored(t *testing.T) {
	s := startLive(t, func(o *server.Options) { o.Lease = time.Second })
	id := s.begin(`inputs: { at: datetime }
steps:
  - { id: hold, wait_until: inputs.at, next: work }
  - { id: work, agent: Do it., next: end }
  - { id: end, finish: done }`, Args{"at": time.Now().Add(1500 * time.Millisecond).UTC().Format(time.RFC3339Nano)})
	require.Equal(t, run.StepWaiting, s.stored(id).Steps[0].State)
	eventually(t, "the wait is over", func() bool { return s.stored(id).Steps[1].State == run.StepReady })
	s.claim(id, "work")
	require.Equal(t, run.StepClaimed, s.stored(id).Steps[1].State)
	eventually(t, "the lease is over", func() bool { return s.stored(id).Steps[1].State == run.StepReady })
	s.cancel(id)
	require.NoError(t, s.closed(id))
}

const asks = `steps:
  - { id: ask, person: who, task: Do it., next: end }
  - { id: end, finish: done }`

func TestLiveRunsTellPeopleAndTestRunsDoNot(t *testing.T) {
	s := startLive(t)
	quietly := s.begin(asks, nil, Args{"mode": "test"})
	s.cancel(quietly)
	require.NoError(t, s.closed(quietly))
	id := s.begin(asks, nil)
	eventually(t, "the notification", func() bool {
		lines, _ := s.Notifications.All()
		return len(lines) == 1 && strings.Contains(lines[0], id)
	})
	for _, e := range s.history(id) {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			require.Equal(t, workflows.ActivityNotify, a.ActivityType.Name)
			require.Equal(t, 10*time.Minute, a.ScheduleToCloseTimeout.AsDuration(), "given up then")
			require.Zero(t, a.RetryPolicy.MaximumAttempts)
		}
	}
	require.Zero(t, count(s.history(quietly), enumspb.EVENT_TYPE_TIMER_STARTED))
	s.cancel(id)
	require.NoError(t, s.closed(id))
}

func TestCancellingInTemporalIsAnOperatorsCancel(t *testing.T) {
	s := startLive(t)
	id := s.begin(twoSteps, nil)
	s.claim(id, "first")
	require.NoError(t, s.c.CancelWorkflow(t.Context(), workflows.WorkflowID("acme", id), ""))
	require.Error(t, s.closed(id))
	require.Equal(t, run.Cancelled, s.stored(id).State)
	require.Equal(t, run.Server, s.stored(id).Ended.By)
	described, err := s.c.DescribeWorkflow(t.Context(), workflows.WorkflowID("acme", id), "")
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, described.Status)
	refused := s.Refused(run.Conflict, A1, "claim", Args{"runId": id, "stepId": "second", "requestId": ID()})
	require.Equal(t, []string{"run_ended"}, refused.Issues)
}

func TestAStartSentAgainFindsItsRun(t *testing.T) {
	s := startLive(t)
	again := Args{"process": "p", "requestId": ID(), "inputs": Args{}}
	s.Publish("---\nname: p\ndescription: d.\nsteps:\n  - { id: end, finish: done }\n---\n", nil)
	first := Must[run.View](s.Server, Mira, "start_run", again)
	require.NoError(t, s.closed(first.Run.ID))
	_, err := s.pool().Exec(t.Context(), `DELETE FROM requests`)
	require.NoError(t, err)
	second := Must[run.View](s.Server, Mira, "start_run", again)
	require.Equal(t, first, second, "also after its workflow has closed")
}
