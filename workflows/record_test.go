package workflows_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"

	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

// Sets that are there stay: what an older release recorded is what has to replay.
var record = flag.String("record", "", "record a new set of histories, under this name, for TestSavedHistoriesReplay")

// shortHistory is how many events make a history long on the server that
// histories are recorded with: they stay small, and one continues as new.
const shortHistory = 80

const approval = `steps:
  - { id: work, agent: Do it., output: { text: string }, next: check }
  - { id: check, person: who, approve: Check it., on_reject: work, next: end }
  - { id: end, finish: done }`

// plays are the kinds of run whose histories are kept: all that a workflow does
// should be in one of them.
var plays = map[string]func(s *live) string{
	"claim-submit": func(s *live) string {
		id := s.begin(chain(3), nil)
		for i := range 3 {
			s.submit(s.claim(id, fmt.Sprint("s", i)))
		}
		return id
	},
	"rejection": func(s *live) string {
		id := s.begin(approval, nil)
		for _, decision := range []Args{{"decision": "rejected", "note": "again"}, {"decision": "approved"}} {
			token := s.claim(id, "work")
			_ = s.Refused(run.NotAccepted, A1, "submit", Args{"token": token, "summary": "Did it.", "output": Args{}, "requestId": ID()})
			token = Must[struct{ Token string }](s.Server, A1, "renew", Args{"token": token, "progress": "half", "requestId": ID()}).Token
			Must[run.View](s.Server, A1, "submit", Args{"token": token, "summary": "Did it.", "output": Args{"text": "x"}, "requestId": ID()})
			s.decide(id, Omar, decision)
		}
		return id
	},
	"escalation": func(s *live) string {
		id := s.begin(twoSteps, nil)
		for _, decision := range []Args{{"decision": "returned", "note": "try"}, {"decision": "failed", "note": "no"}} {
			token := s.claim(id, "first")
			Must[run.View](s.Server, A1, "escalate", Args{"token": token, "note": "cannot", "requestId": ID()})
			s.decide(id, Boss, decision)
		}
		return id
	},
	"parallel": func(s *live) string {
		id := s.begin(asksAndWaits, nil)
		s.send(id, "news")
		s.decide(id, Omar, Args{"decision": "completed"})
		s.submit(s.claim(id, "work"))
		return id
	},
	"waits": func(s *live) string {
		id := s.begin(`inputs: { at: datetime }
steps:
  - { id: hold, wait_until: inputs.at, next: hear }
  - { id: hear, wait_for: news, next: listen }
  - { id: listen, wait_for: more, next: end }
  - { id: end, finish: done }`, Args{"at": time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano)})
		s.send(id, "news")
		eventually(s.t, "the wait", func() bool { return s.stored(id).Steps[2].State == run.StepWaiting })
		s.send(id, "more")
		return id
	},
	"deadlines": func(s *live) string { // the shortest there are take a minute
		id := s.begin(`steps:
  - { id: work, agent: Do it., due: 1m, next: hear }
  - { id: hear, wait_for: news, timeout: 1m, on_timeout: late, next: end }
  - { id: late, finish: late }
  - { id: end, finish: done }`, nil)
		s.claim(id, "work") // and is lost
		require.Eventually(s.t, func() bool { return s.stored(id).Steps[0].Overdue }, 2*time.Minute, time.Second)
		s.submit(s.claim(id, "work"))
		return id
	},
	"cancelled": func(s *live) string {
		id := s.begin(asksAndWaits, nil)
		s.claim(id, "work")
		s.cancel(id)
		return id
	},
	"cancelled-in-temporal": func(s *live) string {
		id := s.begin(asksAndWaits, nil)
		require.NoError(s.t, s.c.CancelWorkflow(context.Background(), workflows.WorkflowID("acme", id), ""))
		return id
	},
	"unopened": func(s *live) string {
		s.Publish("---\nname: p\ndescription: d.\n"+twoSteps+"\n---\n", nil)
		in := input(s.t, run.Live, twoSteps)
		_, err := s.c.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{
			ID: workflows.WorkflowID("acme", in.Start.RunID), TaskQueue: "agentprocess",
		}, workflows.TypeRun, in)
		require.NoError(s.t, err)
		eventually(s.t, "the record", func() bool { return s.stored(in.Start.RunID) != nil })
		s.cancel(in.Start.RunID)
		return in.Start.RunID
	},
	"reconciled": func(s *live) string {
		id := s.begin(twoSteps, nil)
		s.claim(id, "first")
		handle, err := s.c.UpdateWorkflow(context.Background(), client.UpdateWorkflowOptions{
			WorkflowID: workflows.WorkflowID("acme", id), UpdateName: workflows.UpdateProject, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		require.NoError(s.t, err)
		require.NoError(s.t, handle.Get(context.Background(), nil))
		s.cancel(id)
		return id
	},
	"checked": func(s *live) string {
		id := s.begin(`steps:
  - { id: work, agent: Do it., output: { text: string }, check: [{ ask: Is it done?, fail: 0.5 }], next: sign }
  - { id: sign, person: who, task: Sign it., output: { text: string }, check: [{ ask: Is it signed?, fail: 0.5 }], advisory: true, next: end }
  - { id: end, finish: done }`, nil)
		token := s.claim(id, "work")
		done := func(text string) Args {
			return Args{"token": token, "summary": "Did it.", "output": Args{"text": text}, "requestId": ID()}
		}
		_ = s.Refused(run.Retry, A1, "submit", done("silence"))
		_ = s.Refused(run.NotAccepted, A1, "submit", done("0.1"))
		Must[run.View](s.Server, A1, "submit", done("0.6"))
		s.decide(id, Boss, Args{"decision": "returned", "note": "again"})
		token = s.claim(id, "work")
		args := done("0.6") // the history is long by now, and a check waits for the next one
		eventually(s.t, "the submission", func() bool { return s.Call(A1, "submit", args).OK })
		s.decide(id, Boss, Args{"decision": "completed"})
		s.decide(id, Omar, Args{"decision": "completed", "output": Args{"text": "silence"}})
		return id
	},
	"cancelled-during-a-check": func(s *live) string {
		id := s.begin(`steps:
  - { id: work, agent: Do it., output: { text: string }, check: Is it done?, next: end }
  - { id: end, finish: done }`, nil)
		token := s.claim(id, "work")
		refused := make(chan *run.Error, 1)
		go func() {
			refused <- s.Call(A1, "submit", Args{"token": token, "summary": "Did it.", "output": Args{"text": "wait"}, "requestId": ID()}).Error
		}()
		eventually(s.t, "the check", func() bool { return count(s.history(id), enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED) > 0 })
		s.cancel(id)
		require.Equal(s.t, []string{"run_ended"}, (<-refused).Issues)
		return id
	},
	"continued": func(s *live) string {
		id := s.begin(asksAndWaits, nil)
		token := s.claim(id, "work")
		for i := 0; len(s.chainOf(id)) == 1; i++ {
			s.send(id, fmt.Sprint("e", i))
		}
		s.submit(token)
		s.cancel(id)
		return id
	},
}

func (s *live) send(id, name string) {
	Must[any](s.Server, A1, "send_event", Args{"runId": id, "name": name, "data": Args{"n": 1}, "requestId": ID()})
}

// decide decides the run's only work item.
func (s *live) decide(id, person string, decision Args) {
	s.t.Helper()
	for _, item := range Must[struct{ Items []run.PersonWork }](s.Server, person, "get_work", Args{}).Items {
		if item.RunID == id {
			args := Args{"runId": id, "workItemId": item.WorkItem.ID, "snapshot": item.WorkItem.Snapshot, "requestId": ID()}
			for k, v := range decision {
				args[k] = v
			}
			Must[run.View](s.Server, person, "decide", args)
			return
		}
	}
	require.Fail(s.t, "no work item")
}

func TestRecordHistories(t *testing.T) {
	if *record == "" {
		t.Skip("records with -record NAME only")
	}
	startShortTemporal(t)
	require.NoDirExists(t, filepath.Join(histories, *record), "histories that were recorded are kept: take another name")
	require.NoError(t, os.MkdirAll(filepath.Join(histories, *record), 0o755))
	for name, play := range plays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startLive(t, func(o *server.Options) {
				o.Temporal.Identity = "recorder"
				o.Lease = 5 * time.Second
				o.Evaluator = stated{}
			})
			id := play(s)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			_ = s.c.GetWorkflow(ctx, workflows.WorkflowID("acme", id), "").Get(ctx, nil)
			for i, each := range s.chainOf(id) {
				s.save(fmt.Sprintf("%s-%d.json", name, i+1), workflows.WorkflowID("acme", id), each)
			}
		})
	}
	t.Run(reconcilePass, func(t *testing.T) {
		t.Parallel()
		s := startLive(t, func(o *server.Options) { o.Temporal.Identity = "recorder" })
		schedule := s.c.ScheduleClient().GetHandle(t.Context(), "agentprocess-reconcile-agentprocess")
		require.NoError(t, schedule.Trigger(t.Context(), client.ScheduleTriggerOptions{}))
		eventually(t, "a pass", func() bool {
			d, err := schedule.Describe(t.Context())
			require.NoError(t, err)
			if len(d.Info.RecentActions) == 0 {
				return false
			}
			pass := d.Info.RecentActions[0].StartWorkflowResult
			require.NoError(t, s.c.GetWorkflow(t.Context(), pass.WorkflowID, pass.FirstExecutionRunID).Get(t.Context(), nil))
			s.save(reconcilePass+"-1.json", pass.WorkflowID, pass.FirstExecutionRunID)
			return true
		})
	})
}

// reconcilePass is the one kind of workflow that is no run.
const reconcilePass = "reconcile"

// save writes a history with an event a line.
func (s *live) save(file, workflowID, workflowRun string) {
	host, err := os.Hostname()
	require.NoError(s.t, err)
	var b bytes.Buffer
	b.WriteString(`{"events":[`)
	for i, e := range s.events(workflowID, workflowRun) {
		line, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(e)
		require.NoError(s.t, err)
		b.WriteString(map[bool]string{true: "\n", false: ",\n"}[i == 0])
		b.Write(bytes.ReplaceAll(line, []byte(`"name":"`+host+`:`), []byte(`"name":"worker:`))) // a sticky queue's
	}
	b.WriteString("\n]}\n")
	require.NoError(s.t, os.WriteFile(filepath.Join(histories, *record, file), b.Bytes(), 0o600))
}

// startShortTemporal has the tests use a server with which histories are soon
// long. The `temporal` on PATH, or named by AGENTPROCESS_TEMPORAL, is taken.
func startShortTemporal(t *testing.T) {
	binary := os.Getenv("AGENTPROCESS_TEMPORAL")
	if binary == "" {
		binary = "temporal"
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	cmd := exec.CommandContext(t.Context(), binary, "server", "start-dev", "--headless", "--log-level", "error", "--port", strconv.Itoa(port),
		"--dynamic-config-value", `system.namespaceCacheRefreshInterval="100ms"`,
		"--dynamic-config-value", fmt.Sprintf("limit.historyCount.suggestContinueAsNew=%d", shortHistory))
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address := "127.0.0.1:" + strconv.Itoa(port)
	eventually(t, "the Temporal server", func() bool {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	t.Setenv("AGENTPROCESS_TEST_TEMPORAL", address)
}
