package run_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

const approval = `
steps:
  - { id: screen, agent: A. }
  - { id: approve, person: finance, approve: Is it fine?, due: 2d }
  - { id: file, person: finance, task: File it., output: { ref: string } }
  - { id: done, finish: onboarded }`

func toApproval(t *testing.T) *world {
	w := begin(t, approval)
	w.work(ada, "screen", run.Submission{})
	return w
}

func TestDecideChecksInTheOrderOfItsContract(t *testing.T) {
	// Each case breaks every rule from its own on (tools decide).
	t.Run("run_ended comes first", func(t *testing.T) {
		w := toApproval(t)
		c := w.decideOf("approve", run.ReturnedDecision, "")
		c.Decide.Snapshot = "old"
		w.must(olga, cancelOf("Stop."))
		require.Equal(t, []string{"run_ended"}, w.refused(run.Conflict, ada, c))
		c.Decide.ItemID = "w_999"
		require.Equal(t, []string{"run_ended"}, w.refused(run.Conflict, ada, c))
	})
	t.Run("then already_decided, so that a second member of the group learns the truth (spec §3.4)", func(t *testing.T) {
		w := toApproval(t)
		c := w.decideOf("approve", run.Approved, "")
		w.must(finn, c)
		require.Equal(t, []string{"already_decided"}, w.refused(run.Conflict, faye, c))
		c.Decide.Snapshot, c.Decide.Decision = "old", run.ReturnedDecision
		require.Equal(t, []string{"already_decided"}, w.refused(run.Conflict, ada, c))
	})
	t.Run("then not_found for an item that never existed on this run", func(t *testing.T) {
		for _, id := range []string{"w_2", "w_0", "w_-1", "w_+1", "w_01", "w_", "x", "", "w_99999999999999999999", "W_1"} {
			w := toApproval(t)
			c := w.decideOf("approve", run.ReturnedDecision, "")
			c.Decide.ItemID, c.Decide.Snapshot = id, "old"
			w.refused(run.NotFound, ada, c)
		}
	})
	t.Run("then stale, of which an agent learns too", func(t *testing.T) {
		w := toApproval(t)
		c := w.decideOf("approve", run.ReturnedDecision, "")
		c.Decide.Snapshot = "old"
		w.refused(run.Stale, ada, c)
	})
	t.Run("then forbidden for who is no person, and for a person outside the assignment (spec §6 rule 4)", func(t *testing.T) {
		w := toApproval(t)
		c := w.decideOf("approve", run.ReturnedDecision, "")
		w.refused(run.Forbidden, ada, c)
		w.refused(run.Forbidden, run.Actor{ID: "a_x", Groups: []string{"g_finance"}}, c)
		w.refused(run.Forbidden, mira, c)
		w.refused(run.Forbidden, olga, c)
		w.refused(run.Forbidden, run.Actor{ID: "x", Person: true, Groups: []string{"finance"}}, c)
	})
	t.Run("then invalid for a decision that the item does not list", func(t *testing.T) {
		w := toApproval(t)
		for _, d := range []run.Decision{run.Completed, run.ReturnedDecision, "", "maybe"} {
			w.refused(run.Invalid, finn, w.decideOf("approve", d, "x"))
		}
		w.decide(finn, "approve", run.Approved, "")
		for _, d := range []run.Decision{run.Approved, run.Rejected, run.ReturnedDecision} {
			w.refused(run.Invalid, finn, w.decideOf("file", d, "x"))
		}
	})
	t.Run("and not_accepted last", func(t *testing.T) {
		w := toApproval(t)
		w.decide(finn, "approve", run.Approved, "")
		require.Equal(t, []string{"output.ref: missing"}, w.refused(run.NotAccepted, finn, w.decideOf("file", run.Completed, "")))
		require.JSONEq(t, `{"issues":["output.ref: missing"]}`, w.handoff("file"))
		require.Equal(t, []string{"output.ref: missing"}, w.r.View().WorkItems[0].Handoff.Issues)
	})
}

func TestDecide(t *testing.T) {
	t.Run("a person step makes one work item, shared by the group (spec §3.4)", func(t *testing.T) {
		w := toApproval(t)
		require.Len(t, w.r.View().WorkItems, 1)
		require.Equal(t, run.Assignment{Group: "g_finance"}, w.item("approve").AssignedTo)
		for _, a := range []run.Actor{finn, faye} {
			_, ok := w.r.PersonWork("w_1", a)
			require.True(t, ok)
		}
		_, ok := w.r.PersonWork("w_1", mira)
		require.False(t, ok)
	})
	t.Run("an approval continues at next, and records its decision and nothing else (tools)", func(t *testing.T) {
		w := toApproval(t)
		w.decide(finn, "approve", run.Approved, "Fine.")
		require.JSONEq(t, `{"decision":"approved","note":"Fine.","by":"finn@example.com","at":"2026-10-06T09:00:00Z"}`, w.current("approve"))
		require.Equal(t, "done done waiting -", w.states())
	})
	t.Run("an approval without a note records none", func(t *testing.T) {
		w := toApproval(t)
		w.decide(finn, "approve", run.Approved, "")
		require.NotContains(t, w.current("approve"), "note")
	})
	t.Run("a task is completed under the same acceptance, its summary optional (spec §3.3)", func(t *testing.T) {
		w := toApproval(t)
		w.decide(finn, "approve", run.Approved, "")
		c := w.decideOf("file", run.Completed, "")
		c.Decide.Submission.Output = json.RawMessage(`{"ref":"7"}`)
		w.must(faye, c)
		require.JSONEq(t, `{"output":{"ref":"7"},"by":"faye@example.com","at":"2026-10-06T09:00:00Z"}`, w.current("file"))
		require.Equal(t, run.Ended, w.r.State)
		require.Equal(t, "onboarded", *w.r.Outcome)
		require.Equal(t, &run.End{By: run.Server, At: w.now}, w.r.Record.Ended, "a finish has a null note (spec §3.5)")
	})
	t.Run("a person who must choose a route does it in a task (spec §2.2)", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: choose, person: finance, task: Choose., next: [yes, no] }
  - { id: yes, finish: accepted }
  - { id: no, finish: declined }`)
		c := w.decideOf("choose", run.Completed, "")
		require.Len(t, w.refused(run.NotAccepted, finn, c), 2)
		c.Decide.Submission.Next, c.Decide.Submission.Reason = stringP("no"), stringP("Too dear.")
		w.must(finn, c)
		require.Equal(t, "done - done", w.states())
		require.Contains(t, w.current("choose"), `"next":"no","reason":"Too dear."`)
	})
	t.Run("failed ends the run from any item (spec §3.4)", func(t *testing.T) {
		w := toApproval(t)
		w.decide(finn, "approve", run.FailedDecision, "Fraud.")
		require.Equal(t, "done failed - -", w.states())
		require.Equal(t, "failed", *w.r.Outcome)
		require.JSONEq(t, `{"decision":"failed","note":"Fraud.","by":"finn@example.com","at":"2026-10-06T09:00:00Z"}`, w.current("approve"))
	})
	t.Run("an approval rejected without on_reject ends the run rejected, with the note (spec §3.5)", func(t *testing.T) {
		w := toApproval(t)
		w.decide(finn, "approve", run.Rejected, "No.")
		require.Equal(t, "done done - -", w.states())
		require.Equal(t, "rejected", *w.r.Outcome)
		require.Equal(t, &run.End{By: finn.ID, At: w.now, Note: stringP("No.")}, w.r.Record.Ended)
		require.Contains(t, w.current("approve"), `"decision":"rejected","note":"No."`)
	})
}
