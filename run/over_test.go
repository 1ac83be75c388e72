package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

// everything is a run with a claimed step, an open item, a wait and a held event.
const everything = `
steps:
  - { id: fork, parallel: [work, ask, pause, hear], next: done }
  - { id: work, agent: A., next: join }
  - { id: ask, person: finance, task: B., due: 1h, next: tell }
  - { id: tell, agent: C., next: join }
  - { id: pause, wait: 1h, next: join }
  - { id: hear, wait_for: paid, timeout: 1h, next: join }
  - { id: done, finish: ok }`

func TestWhenARunIsOver(t *testing.T) {
	ends := map[string]func(*world){
		"cancelled": func(w *world) { w.must(olga, cancelOf("Stop.")) },
		"failed":    func(w *world) { w.decide(finn, "ask", run.FailedDecision, "No.") },
	}
	for name, end := range ends {
		t.Run("every unfinished step is cancelled, items go and tokens stop working: "+name+" (spec §3.5)", func(t *testing.T) {
			w := begin(t, everything)
			g := w.claim(ada, "work")
			w.must(ada, eventOf("other", ""))
			decision := w.decideOf("ask", run.Completed, "")
			end(w)
			require.Empty(t, w.r.View().WorkItems)
			require.True(t, w.r.Over())
			for _, id := range []string{"fork", "work", "pause", "hear"} {
				require.Equal(t, run.StepCancelled, w.step(id).State)
			}
			require.Equal(t, run.StepNone, w.step("tell").State, "what was never reached stays so")
			require.Equal(t, run.StepNone, w.step("done").State)
			for _, write := range []struct {
				by run.Actor
				c  run.Command
			}{
				{ada, submitOf(g, run.Submission{})}, {bob, submitOf(g, run.Submission{})}, {ada, renewOf(g, "")}, {ada, escalateOf(g, "x")},
				{bob, claimOf("work")}, {bob, claimOf("nowhere")}, {finn, decision}, {ada, decision},
				{olga, cancelOf("Again.")}, {finn, cancelOf("Again.")}, {ada, eventOf("paid", "")}, {finn, eventOf("paid", "{")},
			} {
				require.Equal(t, []string{"run_ended"}, w.refused(run.Conflict, write.by, write.c), "checked before anything else")
			}
			w.pass(5 * hour)
		})
	}
	t.Run("a cancelled run has the reason and no outcome (spec §3.5)", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.must(olga, cancelOf("Wrong vendor."))
		require.Equal(t, run.Cancelled, w.r.State)
		require.Nil(t, w.r.Outcome)
		require.Equal(t, &run.End{By: olga.ID, At: w.now, Note: stringP("Wrong vendor.")}, w.r.Record.Ended)
		require.Equal(t, "cancelled -", w.states())
	})
	t.Run("a run that waits can be cancelled too (spec §3.5)", func(t *testing.T) {
		w := begin(t, waits)
		require.Equal(t, run.Waiting, w.r.State)
		w.must(olga, cancelOf("Stop."))
	})
	t.Run("only an operator cancels (spec §4.1)", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.refused(run.Forbidden, mira, cancelOf("Stop."))
		w.refused(run.Forbidden, ada, cancelOf("Stop."))
		w.refused(run.Forbidden, run.Actor{ID: "a_op", Operator: true}, cancelOf("Stop."))
	})
	t.Run("who operates the server can end it from outside, once", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.claim(ada, "screen")
		w.r.CancelByServer(w.now.Add(hour), "Terminated.")
		require.Equal(t, run.Cancelled, w.r.State)
		require.Equal(t, run.Server, w.r.Record.Ended.By)
		checkState(t, w.r)
		text := asJSON(t, w.r)
		w.r.CancelByServer(w.now.Add(2*hour), "Again.")
		require.Equal(t, text, asJSON(t, w.r))
	})
	t.Run("a run that ends the moment it starts", func(t *testing.T) {
		w := begin(t, "steps: [{ id: done, finish: nothing_to_do }]")
		require.Equal(t, "done", w.states())
		require.EqualValues(t, 1, w.r.Seq)
		require.Equal(t, "nothing_to_do", *w.r.Outcome)
	})
}
