package run_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

const rework = `
steps:
  - { id: draft, agent: Draft it., due: 1h }
  - { id: polish, agent: Polish it. }
  - { id: approve, person: finance, approve: Is it fine?, on_reject: draft }
  - { id: sign, person: finance, approve: Sign it?, on_reject: polish }
  - { id: done, finish: ok }`

func said(text string) run.Submission { return run.Submission{Summary: text} }

// drafted is a run that waits on the first approval.
func drafted(t *testing.T) *world {
	w := begin(t, rework)
	w.work(ada, "draft", said("Draft 1."))
	w.work(ada, "polish", said("Polish 1."))
	return w
}

func TestRejectionsWithoutEndStopAtTheCap(t *testing.T) {
	w := begin(t, `
steps:
  - { id: approve, person: finance, approve: Fine?, on_reject: approve }
  - { id: done, finish: ok }`, limit(10_000))
	note := strings.Repeat("n", 4000)
	for range 2 {
		w.decide(finn, "approve", run.Rejected, note)
	}
	issues := w.refused(run.NotAccepted, finn, w.decideOf("approve", run.Rejected, note))
	require.Len(t, issues, 1)
	require.Contains(t, issues[0], "run data: ")
	w.decide(finn, "approve", run.Approved, "")
	require.Equal(t, run.Ended, w.r.State, "the run can go on")
}

func TestARejectionGoesBack(t *testing.T) {
	t.Run("to on_reject, and what completed after it becomes history (spec §3.1)", func(t *testing.T) {
		w := drafted(t)
		w.decide(finn, "approve", run.Rejected, "Too short.")
		require.Equal(t, "ready - - - -", w.states())
		require.Empty(t, w.current("polish"))
		require.Equal(t, 1, w.historyLength("polish"))
		require.JSONEq(t, `{"summary":"Polish 1.","output":{},"by":"a_ada","at":"2026-10-06T09:00:00Z"}`, asJSON(t, w.r.Data.Steps["polish"].History[0]))
	})
	t.Run("the step returned to starts afresh, its own completion history too", func(t *testing.T) {
		w := drafted(t)
		w.decide(finn, "approve", run.Rejected, "Too short.")
		require.Empty(t, w.current("draft"))
		require.Equal(t, 1, w.historyLength("draft"))
	})
	t.Run("the rejecting approval keeps its note current until it completes again (spec §3.1)", func(t *testing.T) {
		w := drafted(t)
		w.pass(minute)
		w.decide(finn, "approve", run.Rejected, "Too short.")
		kept := `{"decision":"rejected","note":"Too short.","by":"finn@example.com","at":"2026-10-06T09:01:00Z"}`
		require.JSONEq(t, kept, w.current("approve"))
		w.work(bob, "draft", said("Draft 2."))
		require.JSONEq(t, kept, w.current("approve"))
		w.work(bob, "polish", said("Polish 2."))
		require.JSONEq(t, kept, w.current("approve"), "also while it is open again")
		require.Zero(t, w.historyLength("approve"))
		w.decide(faye, "approve", run.Approved, "")
		require.Contains(t, w.current("approve"), "approved")
		require.JSONEq(t, "["+kept+"]", asJSON(t, w.r.Data.Steps["approve"].History))
	})
	t.Run("the due clock of the repeat starts anew (spec §2.2)", func(t *testing.T) {
		w := drafted(t)
		w.pass(3 * hour)
		w.decide(finn, "approve", run.Rejected, "Too short.")
		require.Equal(t, w.now.Add(hour), *w.step("draft").Due)
		require.False(t, w.step("draft").Overdue)
	})
	t.Run("history is oldest first (spec §3.1)", func(t *testing.T) {
		w := drafted(t)
		w.decide(finn, "approve", run.Rejected, "One.")
		w.work(ada, "draft", said("Draft 2."))
		w.work(ada, "polish", said("Polish 2."))
		w.decide(finn, "approve", run.Rejected, "Two.")
		require.Equal(t, "Draft 1.", w.r.Data.Steps["draft"].History[0].Summary)
		require.Equal(t, "Draft 2.", w.r.Data.Steps["draft"].History[1].Summary)
		require.Equal(t, "One.", w.r.Data.Steps["approve"].History[0].Note)
		require.Contains(t, w.current("approve"), "Two.")
	})
	t.Run("a later approval moves an earlier one's approval to history (spec §3.1)", func(t *testing.T) {
		w := drafted(t)
		w.decide(finn, "approve", run.Approved, "")
		w.decide(finn, "sign", run.Rejected, "Typo.")
		require.Equal(t, "done ready - - -", w.states())
		require.NotEmpty(t, w.current("draft"), "what completed before the step returned to stays")
		require.Empty(t, w.current("approve"))
		require.Equal(t, 1, w.historyLength("approve"))
		require.Contains(t, w.current("sign"), "Typo.")
	})
	t.Run("another approval's rejection that goes back past a kept rejection moves it to history", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: draft, agent: A. }
  - { id: first, person: finance, approve: A?, on_reject: choose }
  - { id: choose, agent: B., next: [second, first2] }
  - { id: first2, person: finance, approve: A?, next: second }
  - { id: second, person: finance, approve: B?, on_reject: draft }
  - { id: done, finish: ok }`)
		w.work(ada, "draft", said("1"))
		w.decide(finn, "first", run.Rejected, "Kept.")
		require.Contains(t, w.current("first"), "Kept.")
		w.work(ada, "choose", run.Submission{Next: stringP("second"), Reason: stringP("x")})
		require.Contains(t, w.current("first"), "Kept.")
		w.decide(finn, "second", run.Rejected, "All of it.")
		require.Equal(t, "ready - - - - -", w.states())
		require.Empty(t, w.current("first"))
		require.Equal(t, "Kept.", w.r.Data.Steps["first"].History[0].Note)
	})
	t.Run("completed after means order of completion, not order in the file", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: one, agent: A., next: three }
  - { id: two, agent: B., next: four }
  - { id: three, agent: C., next: two }
  - { id: four, person: finance, approve: D?, on_reject: three }
  - { id: done, finish: ok }`)
		for _, step := range []string{"one", "three", "two"} {
			w.work(ada, step, said(step))
		}
		w.decide(finn, "four", run.Rejected, "No.")
		require.Equal(t, "done - ready - -", w.states())
		require.Empty(t, w.current("two"), "earlier in the file, and completed later")
		require.NotEmpty(t, w.current("one"))
	})
	t.Run("an approval may be rejected into itself", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: ask, person: finance, approve: A?, on_reject: ask }
  - { id: done, finish: ok }`)
		first := w.item("ask").ID
		w.decide(finn, "ask", run.Rejected, "Not yet.")
		require.Equal(t, "waiting -", w.states())
		require.NotEqual(t, first, w.item("ask").ID)
		require.Contains(t, w.current("ask"), "Not yet.")
		require.Equal(t, "null", w.handoff("ask"))
		w.decide(finn, "ask", run.Approved, "")
		require.Equal(t, 1, w.historyLength("ask"))
	})
}

// only is a process with a step that only a rejection reaches.
const only = `
steps:
  - { id: draft, agent: A. }
  - { id: approve, person: finance, approve: B?, on_reject: repair, next: done }
  - { id: repair, agent: C., next: approve }
  - { id: done, finish: ok }`

func TestATargetThatOnlyARejectionReaches(t *testing.T) {
	t.Run("leaves everything current the first time: nothing completed after it (spec §3.1)", func(t *testing.T) {
		w := begin(t, only)
		w.work(ada, "draft", said("1"))
		w.decide(finn, "approve", run.Rejected, "Hm.")
		require.Equal(t, "done - ready -", w.states())
		require.NotEmpty(t, w.current("draft"))
	})
	t.Run("starts afresh the second time", func(t *testing.T) {
		w := begin(t, only)
		w.work(ada, "draft", said("1"))
		for _, note := range []string{"One.", "Two."} {
			w.decide(finn, "approve", run.Rejected, note)
			require.Empty(t, w.current("repair"))
			require.Contains(t, w.current("approve"), note)
			w.work(ada, "repair", said(note))
		}
		require.Equal(t, 1, w.historyLength("repair"))
		require.Equal(t, 1, w.historyLength("approve"))
		w.decide(finn, "approve", run.Approved, "")
		require.Equal(t, 2, w.historyLength("approve"))
		require.Equal(t, run.Ended, w.r.State)
	})
	t.Run("and a step it leads back over has no current value once it is reached again", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: draft, agent: A. }
  - { id: polish, agent: A. }
  - { id: approve, person: finance, approve: B?, on_reject: repair, next: done }
  - { id: repair, agent: C., next: polish }
  - { id: done, finish: ok }`)
		w.work(ada, "draft", said("1"))
		w.work(ada, "polish", said("1"))
		w.decide(finn, "approve", run.Rejected, "Hm.")
		w.work(ada, "repair", said("1"))
		require.Equal(t, "done ready - done -", w.states())
		require.Empty(t, w.current("polish"))
		require.Equal(t, 1, w.historyLength("polish"))
	})
}

func TestReadingWhatWasRewound(t *testing.T) {
	t.Run("a path into a step without a current value resolves to nothing and fails the run (spec §3.4)", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: name, agent: A., output: { who: { type: person, optional: true } } }
  - { id: ask, person: steps.name.output.who, approve: B? }
  - { id: done, finish: ok }`)
		w.work(ada, "name", run.Submission{Output: json.RawMessage(`{}`)})
		require.Equal(t, "done failed -", w.states())
		require.Equal(t, run.Server, w.r.Record.Ended.By)
		require.Equal(t, "person: steps.name.output.who holds no person", *w.r.Record.Ended.Note)
		require.JSONEq(t, `{"decision":"failed","note":"person: steps.name.output.who holds no person","by":"server","at":"2026-10-06T09:00:00Z"}`, w.current("ask"))
	})
	t.Run("the assignee is who the path holds now, not who it held before", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: name, agent: A., output: { who: person } }
  - { id: ask, person: steps.name.output.who, approve: B?, on_reject: name }
  - { id: done, finish: ok }`)
		w.work(ada, "name", run.Submission{Output: json.RawMessage(`{"who":"mira@example.com"}`)})
		w.decide(mira, "ask", run.Rejected, "Not me.")
		w.work(ada, "name", run.Submission{Output: json.RawMessage(`{"who":"Finn@example.com"}`)})
		require.Equal(t, run.Assignment{Person: "Finn@example.com"}, w.item("ask").AssignedTo)
		w.refused(run.Forbidden, mira, w.decideOf("ask", run.Approved, ""))
		w.decide(finn, "ask", run.Approved, "")
	})
}
