package server_test

import (
	"context"
	"encoding/base64"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"

	"github.com/agentprocess-temporal/server/evaluator/openai"
	"github.com/agentprocess-temporal/server/evaluator/openai/openaitest"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

const evaluatorKey = "sk-never-to-be-seen"

// checking is a server with an evaluator that answers as the test says.
type checking struct {
	*Server
	t         *testing.T
	evaluator *openaitest.Server
}

func startChecking(t *testing.T, adjust ...func(*server.Options)) *checking {
	e := openaitest.Start(t, answersOf(1, "states", 1, 2, 1))
	asker, err := openai.New(openai.Options{URL: e.URL, Model: "configured", APIKey: evaluatorKey})
	require.NoError(t, err)
	adjust = append(adjust, func(o *server.Options) { o.Evaluator = asker })
	return &checking{Server: Start(t, adjust...), t: t, evaluator: e}
}

// answersOf answers each kind of question in one way.
func answersOf(yes float64, choice string, sure float64, level int, confidence float64) func(openaitest.Call) openaitest.Reply {
	return func(c openaitest.Call) openaitest.Reply {
		switch c.Form {
		case "choice":
			return openaitest.Choice(c, choice, sure)
		case "rubric":
			return openaitest.Level(c, level, confidence)
		}
		return openaitest.Yes(c, yes)
	}
}

func always(r openaitest.Reply) func(openaitest.Call) openaitest.Reply {
	return func(openaitest.Call) openaitest.Reply { return r }
}

func (s *checking) begin(process string, inputs Args) string {
	return Must[run.View](s.Server, Mira, "start_run", Args{"process": process, "inputs": inputs, "requestId": ID()}).Run.ID
}

func (s *checking) claim(id, step string) claimed {
	return Must[claimed](s.Server, A1, "claim", Args{"runId": id, "stepId": step, "requestId": ID()})
}

func (s *checking) get(id string) run.View {
	return Must[run.View](s.Server, Mira, "get_run", Args{"runId": id})
}

// decide decides the run's only work item.
func (s *checking) decide(who, id string, args Args) run.View {
	s.t.Helper()
	items := s.get(id).WorkItems
	require.Len(s.t, items, 1)
	all := Args{"runId": id, "workItemId": items[0].ID, "snapshot": items[0].Snapshot, "requestId": ID()}
	for k, v := range args {
		all[k] = v
	}
	return Must[run.View](s.Server, who, "decide", all)
}

const one = `---
name: one
description: d.
steps:
  - { id: work, agent: Do it., output: { text: string }, check: Is it done?, next: end }
  - { id: end, finish: done }
---
`

func work(token string) Args {
	return Args{"token": token, "output": Args{"text": "x"}, "summary": "Did it.", "requestId": ID()}
}

func TestTheCheckProfileIsOfferedWhileAnEvaluatorIsConfigured(t *testing.T) {
	type described struct {
		Profiles []string
		Limits   map[string]any
	}
	limits := map[string]any{"runDataBytes": 131072.0, "checkPass": 0.9, "checkFail": nil, "checkConfidence": 0.8, "checkStateBytes": 65536.0}
	with := startChecking(t)
	d := Must[described](with.Server, A1, "describe", Args{})
	require.Equal(t, described{[]string{"parallel-1", "check-1"}, limits}, d)
	with.Publish(one, nil)

	with.Stop()
	with.Options.Evaluator = nil
	with.Run()
	d = Must[described](with.Server, A1, "describe", Args{})
	require.Equal(t, described{[]string{"parallel-1"}, limits}, d, "limits are always whole")
	id := with.begin("one", Args{}) // published before
	token := with.claim(id, "work").Token
	began := time.Now()
	_ = with.Refused(run.Retry, A1, "submit", work(token))
	require.Less(t, time.Since(began), 4*time.Second)
}

func TestAnEvaluatorThatDoesNotAnswerLosesNothing(t *testing.T) {
	s := startChecking(t, func(o *server.Options) { o.CheckTry = time.Second })
	s.Publish(one, nil)
	for name, answer := range map[string]func(openaitest.Call) openaitest.Reply{
		"down":                     always(openaitest.Reply{Status: 503}),
		"overrun":                  always(openaitest.Reply{Status: 429}),
		"slow":                     always(openaitest.Reply{Wait: 30 * time.Second}),
		"lying":                    func(c openaitest.Call) openaitest.Reply { return openaitest.Say(c, `"probability": 4`) },
		"broken":                   always(openaitest.Reply{Body: "{"}),
		"repeating the submission": always(openaitest.Reply{Content: `{"for":"r-x","probability":1}`}),
	} {
		t.Run(name, func(t *testing.T) {
			id := s.begin("one", Args{})
			token := s.claim(id, "work").Token
			before := s.get(id)
			s.evaluator.Answer(answer)
			args := work(token)
			_ = s.Refused(run.Retry, A1, "submit", args)
			require.Equal(t, before, s.get(id), "nothing was recorded")
			s.evaluator.Answer(answersOf(1, "", 1, 0, 1))
			require.Equal(t, "done", *Must[run.View](s.Server, A1, "submit", args).Run.Outcome, "the same requestId resubmits")
		})
	}
}

func TestTheServerTriesOnceMoreByItself(t *testing.T) {
	s := startChecking(t)
	s.Publish(one, nil)
	for _, status := range []int{500, 429, 401, 404} {
		var n atomic.Int32
		s.evaluator.Answer(func(c openaitest.Call) openaitest.Reply {
			if n.Add(1) == 1 {
				return openaitest.Reply{Status: status}
			}
			return openaitest.Yes(c, 1)
		})
		id := s.begin("one", Args{})
		require.Equal(t, "done", *Must[run.View](s.Server, A1, "submit", work(s.claim(id, "work").Token)).Run.Outcome)
		require.EqualValues(t, 2, n.Load())
		n.Store(-1 << 20)
		s.evaluator.Answer(func(openaitest.Call) openaitest.Reply { n.Add(1); return openaitest.Reply{Status: status} })
		_ = s.Refused(run.Retry, A1, "submit", work(s.claim(s.begin("one", Args{}), "work").Token))
		require.EqualValues(t, -1<<20+2, n.Load(), "and no more than once: %d", status)
	}
}

func TestASlowEvaluatorHoldsTheClaimAndItsCallerHearsInTime(t *testing.T) {
	s := startChecking(t, func(o *server.Options) { o.Lease = 3 * time.Second })
	s.Publish(one, nil)
	s.evaluator.Answer(always(openaitest.Reply{Wait: 30 * time.Second}))
	id := s.begin("one", Args{})
	c := s.claim(id, "work")
	args := work(c.Token)
	answered := make(chan time.Duration, 1)
	began := time.Now()
	go func() {
		_ = s.Refused(run.Retry, A1, "submit", args)
		answered <- time.Since(began)
	}()
	require.Eventually(t, func() bool { return len(s.evaluator.Calls()) > 0 }, 5*time.Second, 10*time.Millisecond)
	time.Sleep(time.Until(began.Add(4 * time.Second))) // past the lease
	require.Equal(t, []string{"claimed_by_other"}, s.Refused(run.Conflict, A2, "claim", Args{"runId": id, "stepId": "work", "requestId": ID()}).Issues)
	require.Empty(t, Must[struct{ Items []run.AgentWork }](s.Server, A2, "get_work", Args{}).Items)
	require.Equal(t, run.StepClaimed, *s.get(id).Steps[0].State)
	_ = s.Refused(run.Retry, A1, "renew", Args{"token": c.Token, "requestId": ID()})
	took := <-answered
	require.Less(t, took, 15*time.Second)
	require.Greater(t, took, 12*time.Second, "it was tried twice")

	s.evaluator.Answer(answersOf(1, "", 1, 0, 1))
	require.Equal(t, "done", *Must[run.View](s.Server, A1, "submit", args).Run.Outcome, "what was left of the lease is left")
}

func TestARunThatIsCancelledDuringACheckAnswersAtOnce(t *testing.T) {
	s := startChecking(t)
	s.Publish(one, nil)
	s.evaluator.Answer(always(openaitest.Reply{Wait: 30 * time.Second}))
	id := s.begin("one", Args{})
	token := s.claim(id, "work").Token
	answered := make(chan *run.Error, 1)
	go func() { answered <- s.Call(A1, "submit", work(token)).Error }()
	require.Eventually(t, func() bool { return len(s.evaluator.Calls()) > 0 }, 5*time.Second, 10*time.Millisecond)
	Must[run.View](s.Server, Boss, "cancel", Args{"runId": id, "reason": "enough", "requestId": ID()})
	select {
	case refused := <-answered:
		require.Equal(t, []string{"run_ended"}, refused.Issues)
	case <-time.After(4 * time.Second):
		require.Fail(t, "the check held up the answer")
	}
}

func TestOneSubmissionThatIsSentTwiceIsCheckedOnce(t *testing.T) {
	s := startChecking(t)
	s.Publish(one, nil)
	s.evaluator.Answer(func(c openaitest.Call) openaitest.Reply {
		r := openaitest.Yes(c, 1)
		r.Wait = time.Second
		return r
	})
	id := s.begin("one", Args{})
	args := work(s.claim(id, "work").Token)
	first := make(chan run.View, 1)
	go func() { first <- Must[run.View](s.Server, A1, "submit", args) }()
	require.Eventually(t, func() bool { return len(s.evaluator.Calls()) > 0 }, 5*time.Second, 10*time.Millisecond)
	second := Must[run.View](s.Server, A1, "submit", args)
	require.Equal(t, <-first, second)
	require.Len(t, s.evaluator.Calls(), 1)
}

func TestACallerThatGoesAwayDuringACheckFindsItsOutcome(t *testing.T) {
	s := startChecking(t)
	s.Publish(one, nil)
	s.evaluator.Answer(func(c openaitest.Call) openaitest.Reply {
		r := openaitest.Yes(c, 1)
		r.Wait = 2 * time.Second
		return r
	})
	id := s.begin("one", Args{})
	args := work(s.claim(id, "work").Token)
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := s.Client(A1).Call(ctx, "submit", args)
		gone <- err
	}()
	require.Eventually(t, func() bool { return len(s.evaluator.Calls()) > 0 }, 5*time.Second, 10*time.Millisecond)
	leave()
	require.Error(t, <-gone)
	require.Equal(t, "done", *Must[run.View](s.Server, A1, "submit", args).Run.Outcome)
	require.Len(t, s.evaluator.Calls(), 1)
}

func TestAPersonsTaskThatACheckIsUnsureOfGoesToTheOperatorsAndBack(t *testing.T) {
	s := startChecking(t)
	s.Publish(`---
name: sign
description: d.
steps:
  - { id: sign, person: who, task: Sign it., output: { ok: boolean }, check: [{ ask: Is it signed?, fail: 0.2 }], next: end }
  - { id: end, finish: done }
---
`, map[string]string{"who": "finance"})
	id := s.begin("sign", Args{})
	signed := Args{"decision": "completed", "output": Args{"ok": true}}
	s.evaluator.Answer(answersOf(0.5, "", 0, 0, 0))
	v := s.decide(Omar, id, signed)
	require.Equal(t, run.OperatorGroup, v.WorkItems[0].AssignedTo.Group)
	v = s.decide(Boss, id, Args{"decision": "returned", "note": "Page 2."})
	require.Equal(t, "finance", v.WorkItems[0].AssignedTo.Group)
	require.Equal(t, "Page 2.", v.WorkItems[0].Handoff.Returned.Note)
	require.Equal(t, run.Unsure, v.WorkItems[0].Handoff.Check.Verdict)
	s.evaluator.Answer(answersOf(1, "", 0, 0, 0))
	require.Equal(t, "done", *s.decide(Omar, id, signed).Run.Outcome)
}

func TestACheckShowsInTheHistoryWithItsStepAndWithoutTheKey(t *testing.T) {
	var log Lines
	s := startChecking(t, func(o *server.Options) {
		o.CheckTry = time.Second
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	s.Publish(one, nil)
	s.evaluator.Answer(always(openaitest.Reply{Status: 401, Body: `{"error":{"message":"Incorrect API key provided: ` + evaluatorKey + `"}}`}))
	id := s.begin("one", Args{})
	token := s.claim(id, "work").Token
	_ = s.Refused(run.Retry, A1, "submit", work(token))
	s.evaluator.Answer(always(openaitest.Reply{Wait: 30 * time.Second}))
	_ = s.Refused(run.Retry, A1, "submit", work(token))
	c, err := client.Dial(client.Options{HostPort: s.Temporal.Address, Namespace: s.Temporal.Namespace})
	require.NoError(t, err)
	defer c.Close()
	events := c.GetWorkflowHistory(context.Background(), workflows.WorkflowID("acme", id), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	checks := 0
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		text, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(e)
		require.NoError(t, err)
		require.NotContains(t, string(text), evaluatorKey)
		require.NotContains(t, string(text), base64.StdEncoding.EncodeToString([]byte(evaluatorKey)))
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil && a.ActivityType.Name == workflows.ActivityEvaluate {
			checks++
			require.Contains(t, string(e.UserMetadata.Summary.Data), "check work")
			require.EqualValues(t, 2, a.RetryPolicy.MaximumAttempts)
			require.Equal(t, time.Second, a.StartToCloseTimeout.AsDuration())
			require.NotZero(t, a.HeartbeatTimeout.AsDuration())
		}
	}
	require.Equal(t, 2, checks)
	lines, _ := log.All()
	require.Contains(t, strings.Join(lines, "\n"), "401", "but why it failed is logged")
	require.NotContains(t, strings.Join(lines, "\n"), evaluatorKey)
}
