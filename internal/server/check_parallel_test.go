package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/evaluator/openai/openaitest"
	"github.com/agentprocess-temporal/server/internal/mcpclient"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

const branches = `---
name: branches
description: d.
steps:
  - { id: fork, parallel: [work, other], next: review }
  - { id: work, agent: Do it., output: { text: string }, check: Is this done?, next: join }
  - { id: other, agent: Do it., output: { text: string }, check: Is that done?, next: join }
  - { id: review, person: who, approve: Fine?, on_reject: fork, next: end }
  - { id: end, finish: done }
---
`

const withPeople = `---
name: with-people
description: d.
steps:
  - { id: fork, parallel: [work, sign, allow], next: end }
  - { id: work, agent: Do it., output: { text: string }, check: Is it done?, next: join }
  - { id: sign, person: who, task: Sign it., output: { ok: boolean }, check: Is it signed?, next: join }
  - { id: allow, person: who, approve: Allowed?, next: join }
  - { id: end, finish: done }
---
`

// holding answers a question with a yes once its gate opens, and tells when it
// was asked.
func (s *checking) holding(questions ...string) (asked map[string]chan struct{}, open map[string]func()) {
	asked, open = map[string]chan struct{}{}, map[string]func(){}
	gates := map[string]chan struct{}{}
	for _, q := range questions {
		gate := make(chan struct{})
		asked[q], gates[q], open[q] = make(chan struct{}, 10), gate, func() { close(gate) }
	}
	s.evaluator.Answer(func(c openaitest.Call) openaitest.Reply {
		if gate := gates[c.Question]; gate != nil {
			asked[c.Question] <- struct{}{}
			select {
			case <-gate:
			case <-time.After(20 * time.Second):
			}
		}
		return openaitest.Yes(c, 1)
	})
	return asked, open
}

// sends makes a call and hands over what comes back.
func (s *checking) sends(who, tool string, args Args) <-chan mcpclient.Result {
	answered := make(chan mcpclient.Result, 1)
	go func() { answered <- s.Call(who, tool, args) }()
	return answered
}

func await[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(30 * time.Second):
		require.Fail(t, "waited in vain")
	}
	return v
}

// decision is a decision about an item as it stands now.
func (s *checking) decision(id, step string, args Args) Args {
	s.t.Helper()
	for _, item := range s.get(id).WorkItems {
		if item.StepID == step {
			all := Args{"runId": id, "workItemId": item.ID, "snapshot": item.Snapshot, "requestId": ID()}
			for k, v := range args {
				all[k] = v
			}
			return all
		}
	}
	require.Fail(s.t, "no item of "+step)
	return nil
}

func TestBranchesThatAreCheckedAtOnceJoinOnce(t *testing.T) {
	s := startChecking(t)
	s.Publish(branches, map[string]string{"who": "finance"})
	id := s.begin("branches", Args{})
	for round := range 2 { // the second after a rejection from after the join
		asked, open := s.holding("Is this done?", "Is that done?")
		first := s.sends(A1, "submit", work(s.claim(id, "work").Token))
		second := s.sends(A1, "submit", work(s.claim(id, "other").Token))
		await(t, asked["Is this done?"])
		await(t, asked["Is that done?"])
		require.Equal(t, run.StepWaiting, *s.get(id).Steps[0].State, "nobody has joined")
		open["Is this done?"]()
		open["Is that done?"]()
		require.True(t, await(t, first).OK)
		require.True(t, await(t, second).OK)
		v := s.get(id)
		require.Equal(t, run.StepDone, *v.Steps[0].State)
		require.Len(t, v.WorkItems, 1, "and the step behind is there once")
		decide := Args{"decision": "rejected", "note": "Again."}
		if round > 0 {
			decide = Args{"decision": "approved"}
		}
		s.decide(Mira, id, decide)
	}
	require.Equal(t, "done", *s.get(id).Run.Outcome)
	_, report := s.report(Boss, "branches", "30d")
	require.Len(t, report.Questions, 2)
	for _, q := range report.Questions {
		require.Equal(t, []int{2, 2, 1}, []int{q.Asked, q.Compared, q.FalsePasses}, "each verdict once, rejected and then approved: %+v", q)
	}
}

func TestABranchThatEndsTheRunAnswersTheSiblingsThatAreChecked(t *testing.T) {
	s := startChecking(t)
	s.Publish(withPeople, map[string]string{"who": "finance"})
	id := s.begin("with-people", Args{})
	token := s.claim(id, "work").Token
	asked, open := s.holding("Is it done?", "Is it signed?")
	defer open["Is it done?"]()
	defer open["Is it signed?"]()
	submitted := s.sends(A1, "submit", work(token))
	signed := s.sends(Omar, "decide", s.decision(id, "sign", Args{"decision": "completed", "output": Args{"ok": true}}))
	await(t, asked["Is it done?"])
	await(t, asked["Is it signed?"])
	ended := Must[run.View](s.Server, Mira, "decide", s.decision(id, "allow", Args{"decision": "rejected", "note": "No."}))
	require.Equal(t, "rejected", *ended.Run.Outcome)
	for _, answered := range []<-chan mcpclient.Result{submitted, signed} {
		r := await(t, answered)
		require.False(t, r.OK)
		require.Equal(t, []string{"run_ended"}, r.Error.Issues)
	}
	_ = s.Refused(run.Conflict, A1, "renew", Args{"token": token, "requestId": ID()})
}

// A sibling that completes while a person's task is checked changes what the
// person has seen, as any completion does.
func TestAPersonsCompletionGoesStaleWhenASiblingCompletesDuringItsCheck(t *testing.T) {
	s := startChecking(t)
	s.Publish(withPeople, map[string]string{"who": "finance"})
	id := s.begin("with-people", Args{})
	asked, open := s.holding("Is it signed?")
	sign := Args{"decision": "completed", "output": Args{"ok": true}}
	signed := s.sends(Omar, "decide", s.decision(id, "sign", sign))
	await(t, asked["Is it signed?"])
	Must[run.View](s.Server, A1, "submit", work(s.claim(id, "work").Token))
	open["Is it signed?"]()
	r := await(t, signed)
	require.False(t, r.OK)
	require.Equal(t, run.Stale, r.Error.Code)
	_, report := s.report(Boss, "with-people", "30d")
	require.Len(t, report.Questions, 1, "no verdict of it is recorded")
	Must[run.View](s.Server, Omar, "decide", s.decision(id, "sign", sign))
	require.Equal(t, "done", *Must[run.View](s.Server, Mira, "decide", s.decision(id, "allow", Args{"decision": "approved"})).Run.Outcome)
}
