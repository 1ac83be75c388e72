package run_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

const dueAgent = `
steps:
  - { id: screen, agent: Screen it., output: { ok: boolean }, due: 1h }
  - { id: done, finish: screened }`

// escalated is a run whose step waits on an operator.
func escalated(t *testing.T) *world {
	w := begin(t, dueAgent)
	g := w.claim(ada, "screen")
	w.pass(minute)
	w.must(ada, escalateOf(g, "No access."))
	return w
}

func TestEscalate(t *testing.T) {
	t.Run("the step waits on the operators with the note (spec §3.3)", func(t *testing.T) {
		w := escalated(t)
		require.Equal(t, "waiting -", w.states())
		require.Equal(t, run.Waiting, w.r.State)
		i := w.item("screen")
		require.Equal(t, run.Assignment{Group: run.OperatorGroup}, i.AssignedTo)
		require.Equal(t, &run.Escalation{Note: "No access.", By: "a_ada", At: w.now}, i.Escalation)
		require.Equal(t, []run.Decision{run.ReturnedDecision, run.Completed, run.FailedDecision}, w.r.View().WorkItems[0].Decide.Decisions)
	})
	t.Run("only an operator decides it (spec §3.3)", func(t *testing.T) {
		w := escalated(t)
		w.refused(run.Forbidden, finn, w.decideOf("screen", run.ReturnedDecision, "x"))
		agent := run.Actor{ID: "a_op", Operator: true}
		w.refused(run.Forbidden, agent, w.decideOf("screen", run.ReturnedDecision, "x"))
	})
	t.Run("returned makes the step ready again, with the note in the handoff (spec §3.4)", func(t *testing.T) {
		w := escalated(t)
		w.pass(minute)
		w.decide(olga, "screen", run.ReturnedDecision, "Try the other list.")
		require.Equal(t, "ready -", w.states())
		require.JSONEq(t, `{"returned":{"note":"Try the other list.","by":"olga@example.com","at":"2026-10-06T09:02:00Z"}}`, w.handoff("screen"))
		work, _ := w.r.AgentWork("screen")
		require.Equal(t, w.now, work.ReadySince, "it is ready from when it was returned")
		g := w.claim(bob, "screen")
		require.Equal(t, "Try the other list.", w.r.ClaimView(g).Handoff.Returned.Note)
	})
	t.Run("returned does not restart the due clock (spec §3.4)", func(t *testing.T) {
		w := escalated(t)
		w.decide(olga, "screen", run.ReturnedDecision, "Again.")
		require.Equal(t, epoch.Add(hour), *w.step("screen").Due)
		w.pass(hour)
		require.True(t, w.step("screen").Overdue)
	})
	t.Run("returned changes no run data, so the snapshot stands (spec §3.4)", func(t *testing.T) {
		w := escalated(t)
		before := w.r.Snapshot
		w.decide(olga, "screen", run.ReturnedDecision, "Again.")
		require.Equal(t, before, w.r.Snapshot)
	})
	t.Run("completed finishes it in the agent's place, under the same acceptance (spec §3.4)", func(t *testing.T) {
		w := escalated(t)
		c := w.decideOf("screen", run.Completed, "")
		require.Equal(t, []string{"output.ok: missing"}, w.refused(run.NotAccepted, olga, c))
		require.Equal(t, "waiting -", w.states())
		require.JSONEq(t, `{"issues":["output.ok: missing"]}`, w.handoff("screen"))
		c.Decide.Submission.Output = json.RawMessage(`{"ok":true}`)
		w.must(olga, c)
		require.Equal(t, "done done", w.states())
		require.JSONEq(t, `{"output":{"ok":true},"by":"olga@example.com","at":"2026-10-06T09:01:00Z"}`, w.current("screen"))
	})
	t.Run("failed ends the run (spec §3.4)", func(t *testing.T) {
		w := escalated(t)
		w.decide(olga, "screen", run.FailedDecision, "Hopeless.")
		require.Equal(t, "failed -", w.states())
		require.JSONEq(t, `{"decision":"failed","note":"Hopeless.","by":"olga@example.com","at":"2026-10-06T09:01:00Z"}`, w.current("screen"))
		require.Equal(t, &run.End{By: olga.ID, At: w.now, Note: stringP("Hopeless.")}, w.r.Record.Ended)
	})
	t.Run("an escalated step can be escalated again after it was returned", func(t *testing.T) {
		w := escalated(t)
		first := w.item("screen").ID
		w.decide(olga, "screen", run.ReturnedDecision, "Again.")
		w.must(bob, escalateOf(w.claim(bob, "screen"), "Still none."))
		require.NotEqual(t, first, w.item("screen").ID)
		require.Equal(t, "Again.", w.r.View().WorkItems[0].Handoff.Returned.Note)
	})
}
