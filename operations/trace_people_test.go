package operations_test

import (
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

func tracePeople(w world) {
	w.s.Publish(document("by-initiator", "", "  - { id: mine, person: initiator, task: Mine. }\n  - { id: done, finish: done }"), nil)
	w.s.Publish(document("by-path", "{ who: person }", `  - id: ask
    person: inputs.who
    task: Name the next.
    output: { next: person }
  - { id: then, person: steps.ask.output.next, approve: Agree. }
  - { id: done, finish: done }`), nil)
	w.s.Publish(document("by-optional", "{ who: { type: person, optional: true }, at: { type: datetime, optional: true } }", `  - { id: pause, wait_until: inputs.at }
  - { id: ask, person: inputs.who, task: Do. }
  - { id: done, finish: done }`), nil)

	w.run("initiator is the person who started the run, and nobody else", func(w world) {
		id := w.view(Lena, "start_run", Args{"process": "by-initiator", "inputs": Args{}, "requestId": ID()}).Run.ID
		item := w.item(id)
		require.Equal(w.t, run.Assignment{Person: "lena@example.com"}, item.AssignedTo)
		require.Len(w.t, w.personWork(Lena, id), 1)
		require.Empty(w.t, w.personWork(Mira, id))
		require.Empty(w.t, w.personWork(Boss, id))
		w.refused(run.Forbidden, Boss, "decide", decideArgs(id, item, "completed"))
		w.ok(Lena, "decide", decideArgs(id, item, "completed"))
	})
	w.run("an agent cannot start a process that has an initiator", func(w world) {
		w.refusedAs(run.Invalid, A1, "start_run", Args{"process": "by-initiator", "inputs": Args{}, "requestId": ID()}, "initiator:")
	})
	w.run("a path assigns to the person it holds, however the address is written", func(w world) {
		id := w.view(A1, "start_run", Args{"process": "by-path", "inputs": Args{"who": "Lena@Example.com"}, "requestId": ID()}).Run.ID
		require.Len(w.t, w.personWork(Lena, id), 1)
		require.Empty(w.t, w.personWork(Mira, id))
		w.refusedAs(run.NotAccepted, Lena, "decide", decideArgs(id, w.item(id), "completed", Args{"output": Args{"next": "nobody@example.com"}}), "output.next:")
		w.decide(Lena, id, "completed", Args{"output": Args{"next": "omar@example.com"}})
		require.Len(w.t, w.personWork(Omar, id), 1)
		require.Empty(w.t, w.personWork(Lena, id))
		w.decide(Omar, id, "approved")
	})
	w.run("a path that holds nobody, and a time that is missing, fail the run", func(w world) {
		v := w.view(A1, "start_run", Args{"process": "by-optional", "inputs": Args{"at": "2020-01-01T00:00:00Z"}, "requestId": ID()})
		require.Equal(w.t, "failed", *v.Run.Outcome)
		require.Equal(w.t, run.StepFailed, state(v, "ask"))
		require.Equal(w.t, "server", v.Run.Ended.By)
		require.NotEmpty(w.t, *v.Run.Ended.Note)
		require.Equal(w.t, run.FailedDecision, v.Data.Steps["ask"].Decision)
		v = w.view(A1, "start_run", Args{"process": "by-optional", "inputs": Args{"who": "lena@example.com"}, "requestId": ID()})
		require.Equal(w.t, run.StepFailed, state(v, "pause"))
		require.Empty(w.t, state(v, "ask"))
	})
	w.run("a time that is still to come is waited for, and recorded as the server's", func(w world) {
		at := time.Now().Add(600 * time.Millisecond)
		id := w.view(A1, "start_run", Args{"process": "by-optional", "inputs": Args{"who": "lena@example.com", "at": at.Format(time.RFC3339Nano)}, "requestId": ID()}).Run.ID
		w.eventually("the wait ends", func() bool { return len(w.personWork(Lena, id)) == 1 })
		require.False(w.t, time.Now().Before(at))
		v := w.get(id)
		require.Equal(w.t, "server", v.Data.Steps["pause"].By)
		require.Empty(w.t, v.Data.Steps["pause"].Output)
		w.decide(Lena, id, "completed")
	})
	w.run("a time of any year is waited for, or has passed", func(w world) {
		for at, want := range map[string]run.StepState{
			"9999-12-31T23:59:59.999999999-23:59": run.StepWaiting, "2525-01-01T00:00:00Z": run.StepWaiting,
			"0001-01-01T00:00:00+14:00": run.StepDone, "0001-01-01T00:00:00Z": run.StepDone, "1969-12-31T23:59:59.5Z": run.StepDone,
		} {
			v := w.view(A1, "start_run", Args{"process": "by-optional", "inputs": Args{"who": "lena@example.com", "at": at}, "requestId": ID()})
			require.Equal(w.t, want, state(v, "pause"), at)
			require.Equal(w.t, want, state(w.get(v.Run.ID), "pause"), at)
			w.ok(Boss, "cancel", Args{"runId": v.Run.ID, "reason": "x", "requestId": ID()})
		}
	})
	w.run("a role is any member's, the first decision wins", func(w world) {
		id := w.toApproval()
		item := w.item(id)
		require.Equal(w.t, run.Assignment{Group: "finance"}, item.AssignedTo)
		require.NotNil(w.t, item.Due)
		require.Len(w.t, w.personWork(Mira, id), 1)
		require.Len(w.t, w.personWork(Omar, id), 1)
		require.Empty(w.t, w.personWork(Lena, id))
		require.Equal(w.t, item, w.personWork(Mira, id)[0].WorkItem, "get_work shows what get_run shows")
		w.ok(Omar, "decide", decideArgs(id, item, "approved"))
		w.refused(run.Conflict, Mira, "decide", decideArgs(id, item, "approved"), "run_ended")
	})
}

func traceParallel(w world) {
	w.s.Publish(document("fork", "", `  - { id: both, parallel: [check, agree], next: review }
  - { id: check, agent: Check., output: { n: number }, next: join }
  - { id: agree, person: role, approve: Agree., on_reject: agree, next: join }
  - { id: review, person: role, approve: All well., on_reject: both }
  - { id: done, finish: done }`), map[string]string{"role": "finance"})
	w.run("branches are ready at once, what one does makes a decision of another stale, all must join", func(w world) {
		id := w.start("fork", nil)
		v := w.get(id)
		require.Equal(w.t, run.Active, v.Run.State)
		require.Equal(w.t, run.StepWaiting, state(v, "both"))
		require.Equal(w.t, run.StepReady, state(v, "check"))
		before := w.item(id)
		w.ok(A1, "submit", submitArgs(w.claim(A1, id, "check").Token, Args{"n": 1}))
		require.Equal(w.t, run.Waiting, w.get(id).Run.State)
		w.refused(run.Stale, Mira, "decide", decideArgs(id, before, "approved"))
		v = w.decide(Mira, id, "approved")
		require.Equal(w.t, run.StepDone, state(v, "both"))
		require.Nil(w.t, v.Data.Steps["both"], "it records nothing")
		v = w.decide(Mira, id, "rejected", Args{"note": "Again."})
		require.Equal(w.t, run.StepWaiting, state(v, "both"))
		require.Equal(w.t, run.StepReady, state(v, "check"))
		require.Equal(w.t, run.StepWaiting, state(v, "agree"))
		require.Len(w.t, v.Data.Steps["check"].History, 1)
		w.decide(Omar, id, "approved")
		v = w.view(A2, "submit", submitArgs(w.claim(A2, id, "check").Token, Args{"n": 2}))
		require.Equal(w.t, run.StepWaiting, state(v, "review"), "the last to join goes on in the same write")
	})
	w.run("what ends the run in one branch stops the other, and its tokens", func(w world) {
		id := w.start("fork", nil)
		token := w.claim(A1, id, "check").Token
		v := w.decide(Mira, id, "failed", Args{"note": "No use."})
		require.Equal(w.t, "failed", *v.Run.Outcome)
		require.Equal(w.t, run.StepCancelled, state(v, "check"))
		require.Equal(w.t, run.StepCancelled, state(v, "both"))
		w.refused(run.Conflict, A1, "submit", submitArgs(token, Args{"n": 1}), "run_ended")
	})
}
