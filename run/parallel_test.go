package run_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

// incident forks into an agent and two people, the second with rework inside.
const incident = `
steps:
  - { id: open, agent: Open it. }
  - { id: respond, parallel: [ops, security], next: review }
  - { id: ops, agent: Restore it., due: 1h, next: join }
  - { id: security, agent: Contain it., next: report }
  - { id: report, person: legal, task: Report it., due: 1h, next: vet }
  - { id: vet, person: finance, approve: Vetted?, on_reject: report, next: join }
  - { id: review, person: finance, approve: All done?, on_reject: respond }
  - { id: done, finish: stabilized }`

// forked is a run of it, just forked.
func forked(t *testing.T) *world {
	w := begin(t, incident)
	w.work(ada, "open", said("Opened."))
	return w
}

// through takes both branches to the join.
func through(w *world) {
	w.work(ada, "ops", said("Restored."))
	w.work(bob, "security", said("Contained."))
	w.decide(faye, "report", run.Completed, "")
	w.decide(finn, "vet", run.Approved, "")
}

func TestFork(t *testing.T) {
	t.Run("every branch entry is ready in the same write, each with its own due clock (parallel §3)", func(t *testing.T) {
		w := begin(t, incident)
		w.pass(minute)
		seq := w.r.Seq
		w.work(ada, "open", said("Opened."))
		require.Equal(t, seq+2, w.r.Seq, "a claim and a submission")
		require.Equal(t, "done waiting ready ready - - - -", w.states())
		require.Equal(t, w.now.Add(hour), *w.step("ops").Due)
		require.Equal(t, w.now, w.step("ops").Since)
		require.Equal(t, w.now, w.step("security").Since)
	})
	t.Run("the parallel step records nothing (parallel §3)", func(t *testing.T) {
		w := forked(t)
		through(w)
		require.NotContains(t, w.r.Data.Steps, "respond")
		require.Equal(t, run.StepDone, w.step("respond").State)
	})
	t.Run("a process may begin with one", func(t *testing.T) {
		w := begin(t, everything)
		require.Equal(t, "waiting ready waiting - waiting waiting -", w.states())
	})
	t.Run("an event that was held is consumed as its branch starts (spec §3.6)", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: first, agent: A. }
  - { id: fork, parallel: [x, y], next: done }
  - { id: x, wait_for: paid, next: join }
  - { id: y, wait_for: paid, next: join }
  - { id: done, finish: ok }`)
		w.must(ada, eventOf("paid", ""))
		w.work(ada, "first", run.Submission{})
		require.Equal(t, "done waiting done waiting -", w.states())
		require.Equal(t, "y", w.must(ada, eventOf("paid", "")).ConsumedBy)
		require.Equal(t, run.Ended, w.r.State)
	})
}

func TestJoin(t *testing.T) {
	t.Run("a branch that is through waits for the others, its output in run data (parallel §3)", func(t *testing.T) {
		w := forked(t)
		w.work(ada, "ops", said("Restored."))
		require.Equal(t, "done waiting done ready - - - -", w.states())
		require.Contains(t, w.current("ops"), "Restored.")
	})
	t.Run("when the last branch joins the step is done and next is ready, in the same write (parallel §3)", func(t *testing.T) {
		w := forked(t)
		through(w)
		require.Equal(t, "done done done done done done waiting -", w.states())
	})
	t.Run("branches that pass at once join in the write that forked (parallel §3)", func(t *testing.T) {
		w := begin(t, `
inputs: { when: datetime }
steps:
  - { id: first, agent: A. }
  - { id: fork, parallel: [x, y], next: done }
  - { id: x, wait_until: inputs.when, next: x2 }
  - { id: x2, wait_until: inputs.when, next: join }
  - { id: y, wait_for: paid, next: join }
  - { id: done, finish: ok }`, inputs(`{"when":"2020-01-01T00:00:00Z"}`))
		w.must(ada, eventOf("paid", ""))
		w.work(ada, "first", run.Submission{})
		require.Equal(t, "done done done done done done", w.states())
	})
	t.Run("forks can follow one another", func(t *testing.T) {
		w := begin(t, `
inputs: { when: datetime }
steps:
  - { id: one, parallel: [a, b], next: two }
  - { id: a, wait_until: inputs.when, next: join }
  - { id: b, agent: B., next: join }
  - { id: two, parallel: [c, d], next: done }
  - { id: c, wait_until: inputs.when, next: join }
  - { id: d, agent: D., next: join }
  - { id: done, finish: ok }`, inputs(`{"when":"2020-01-01T00:00:00Z"}`))
		w.work(ada, "b", run.Submission{})
		require.Equal(t, "done done done waiting done ready -", w.states())
		w.work(ada, "d", run.Submission{})
		require.Equal(t, run.Ended, w.r.State)
	})
	t.Run("a route of a list may lead to the join (parallel §2)", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: fork, parallel: [a, b], next: done }
  - { id: a, agent: A., next: [more, join] }
  - { id: more, agent: A., next: join }
  - { id: b, agent: B., next: join }
  - { id: done, finish: ok }`)
		w.work(ada, "b", run.Submission{})
		w.work(ada, "a", run.Submission{Next: stringP("join"), Reason: stringP("Enough.")})
		require.Equal(t, "done done - done done", w.states())
		require.Contains(t, w.current("a"), `"next":"join"`)
	})
	t.Run("a timeout may lead to the join (parallel §2)", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: fork, parallel: [a, b], next: done }
  - { id: a, wait_for: paid, timeout: 1h, on_timeout: join, next: more }
  - { id: more, agent: A., next: join }
  - { id: b, wait: 1m, next: join }
  - { id: done, finish: ok }`)
		w.pass(hour)
		require.Equal(t, "done done - done done", w.states())
	})
}

func TestAStepNamedJoin(t *testing.T) {
	t.Run("is a step like any other where nothing forks (parallel §2)", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: first, agent: A., next: [join, done] }
  - { id: join, agent: B., next: done }
  - { id: done, finish: ok }`)
		w.work(ada, "first", run.Submission{Next: stringP("join"), Reason: stringP("x")})
		require.Equal(t, "done ready -", w.states())
		w.work(ada, "join", run.Submission{})
		require.Equal(t, run.Ended, w.r.State)
	})
}

func TestReworkInABranch(t *testing.T) {
	t.Run("moves that branch's later completions to history and touches no sibling (parallel §3)", func(t *testing.T) {
		w := forked(t)
		w.work(bob, "security", said("Contained."))
		w.decide(faye, "report", run.Completed, "")
		w.work(ada, "ops", said("Restored."))
		w.decide(finn, "vet", run.Rejected, "Unclear.")
		require.Equal(t, "done waiting done done waiting - - -", w.states())
		require.Contains(t, w.current("ops"), "Restored.", "completed later, in another branch")
		require.Zero(t, w.historyLength("ops"))
		require.Contains(t, w.current("security"), "Contained.", "completed before the step returned to")
		require.Equal(t, 1, w.historyLength("report"))
		require.Contains(t, w.current("vet"), "Unclear.")
	})
	t.Run("leaves a sibling's claim and item alone (parallel §3)", func(t *testing.T) {
		w := forked(t)
		w.work(bob, "security", said("Contained."))
		w.decide(faye, "report", run.Completed, "")
		g := w.claim(ada, "ops")
		w.decide(finn, "vet", run.Rejected, "Unclear.")
		w.must(ada, submitOf(g, run.Submission{}))
	})
	t.Run("lets the branch join once it is through again", func(t *testing.T) {
		w := forked(t)
		w.work(bob, "security", said("Contained."))
		w.decide(faye, "report", run.Completed, "")
		w.decide(finn, "vet", run.Rejected, "Unclear.")
		w.work(ada, "ops", said("Restored."))
		require.Equal(t, run.StepWaiting, w.step("respond").State)
		w.decide(faye, "report", run.Completed, "")
		w.decide(finn, "vet", run.Approved, "")
		require.Equal(t, run.StepDone, w.step("respond").State)
	})
}

func TestReworkFromAfterTheJoin(t *testing.T) {
	t.Run("to the parallel step runs every branch again (parallel §3)", func(t *testing.T) {
		w := forked(t)
		w.work(bob, "security", said("Contained."))
		w.decide(faye, "report", run.Completed, "")
		w.decide(finn, "vet", run.Rejected, "Unclear.")
		w.decide(faye, "report", run.Completed, "")
		w.decide(finn, "vet", run.Approved, "")
		w.work(ada, "ops", said("Restored."))
		w.pass(2 * hour)
		w.decide(finn, "review", run.Rejected, "Broken again.")
		require.Equal(t, "done waiting ready ready - - - -", w.states())
		require.Equal(t, w.now.Add(hour), *w.step("ops").Due, "with a fresh due")
		for id, n := range map[string]int{"ops": 1, "security": 1, "report": 2, "vet": 2} {
			require.Empty(t, w.current(id))
			require.Equal(t, n, w.historyLength(id))
		}
		require.Contains(t, w.current("review"), "Broken again.")
		require.NotEmpty(t, w.current("open"))
		through(w)
		w.decide(finn, "review", run.Approved, "")
		require.Equal(t, run.Ended, w.r.State)
	})
	t.Run("to a step before it rewinds the whole region (parallel §2)", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: open, agent: A. }
  - { id: fork, parallel: [a, b], next: review }
  - { id: a, agent: A., next: join }
  - { id: b, person: finance, approve: B?, on_reject: b, next: join }
  - { id: review, person: finance, approve: R?, on_reject: open }
  - { id: done, finish: ok }`)
		w.work(ada, "open", said("1"))
		w.work(ada, "a", said("1"))
		w.decide(finn, "b", run.Rejected, "Kept.")
		w.decide(finn, "b", run.Approved, "")
		w.decide(finn, "review", run.Rejected, "All.")
		require.Equal(t, "ready - - - - -", w.states())
		w.work(ada, "open", said("2"))
		require.Equal(t, "done waiting ready waiting - -", w.states())
		require.Empty(t, w.current("b"))
		require.Equal(t, 2, w.historyLength("b"))
	})
	t.Run("to a step after the fork touches no branch", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: fork, parallel: [a, b], next: sum }
  - { id: a, agent: A., next: join }
  - { id: b, agent: B., next: join }
  - { id: sum, agent: S. }
  - { id: review, person: finance, approve: R?, on_reject: sum }
  - { id: done, finish: ok }`)
		for _, id := range []string{"a", "b", "sum"} {
			w.work(ada, id, said(id))
		}
		w.decide(finn, "review", run.Rejected, "Again.")
		require.Equal(t, "done done done ready - -", w.states())
	})
	t.Run("a fork that is reached again starts the region afresh, whatever led there", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: fork, parallel: [a, b], next: review }
  - { id: a, agent: A., next: [more, join] }
  - { id: more, agent: A., next: join }
  - { id: b, agent: B., next: join }
  - { id: review, person: finance, approve: R?, on_reject: repair, next: done }
  - { id: repair, agent: R., next: fork }
  - { id: done, finish: ok }`)
		w.work(ada, "a", run.Submission{Next: stringP("more"), Reason: stringP("x")})
		w.work(ada, "more", said("1"))
		w.work(ada, "b", said("1"))
		w.decide(finn, "review", run.Rejected, "Broken.")
		require.Equal(t, "done done done done - ready -", w.states(), "nothing completed after what never ran")
		w.work(ada, "repair", said("1"))
		require.Equal(t, "waiting ready - ready - done -", w.states())
		require.Empty(t, w.current("more"))
		require.Equal(t, 1, w.historyLength("more"))
	})
}

func TestARunEndedFromABranch(t *testing.T) {
	t.Run("by an approval without on_reject (parallel §3)", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: fork, parallel: [a, b], next: done }
  - { id: a, agent: A., next: join }
  - { id: b, person: finance, approve: B?, next: join }
  - { id: done, finish: ok }`)
		g := w.claim(ada, "a")
		w.decide(finn, "b", run.Rejected, "No.")
		require.Equal(t, "cancelled cancelled done -", w.states())
		require.Equal(t, "rejected", *w.r.Outcome)
		w.refused(run.Conflict, ada, submitOf(g, run.Submission{}))
	})
	t.Run("by a wait_until on a missing value, at the fork itself: what was not entered stays null (parallel §3)", func(t *testing.T) {
		w := begin(t, `
inputs: { when: { type: datetime, optional: true } }
steps:
  - { id: fork, parallel: [a, b, c], next: done }
  - { id: a, person: finance, task: A., next: join }
  - { id: b, wait_until: inputs.when, next: join }
  - { id: c, agent: C., next: join }
  - { id: done, finish: ok }`)
		require.Equal(t, "cancelled cancelled failed - -", w.states())
		require.Equal(t, "failed", *w.r.Outcome)
	})
	t.Run("by a person path that resolves to nothing in the midst of a branch (spec §3.5)", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: fork, parallel: [a, b], next: done }
  - { id: a, agent: A., output: { who: { type: person, optional: true } }, next: a2 }
  - { id: a2, person: steps.a.output.who, task: A., next: join }
  - { id: b, agent: B., next: join }
  - { id: done, finish: ok }`)
		w.work(ada, "a", run.Submission{Output: json.RawMessage(`{}`)})
		require.Equal(t, "cancelled done failed cancelled -", w.states())
	})
}
