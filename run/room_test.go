package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

const roomForNotes = 64 << 10

// notesTaken is how many of the branches a write that leaves a note can be made in,
// until the run has no room for more.
func notesTaken(t *testing.T, code run.Code, what string, write func(branch int) (run.Outcome, *run.Error)) int {
	t.Helper()
	for i := range branches {
		_, err := write(i)
		if err == nil {
			continue
		}
		require.Equal(t, code, err.Code)
		require.Contains(t, err.Issues[0], what+": run data and notes would be ")
		require.Contains(t, err.Issues[0], fmt.Sprintf(" bytes, the limit is %d", 1000+roomForNotes))
		return i
	}
	t.Fatal("there is no bound")
	return 0
}

const branches = 40

// wide is a run of many branches that are all claimed.
func wide(t *testing.T, kind string) (*world, []run.Granted) {
	t.Helper()
	var ids, steps strings.Builder
	for i := range branches {
		fmt.Fprintf(&ids, "b%d, ", i)
		fmt.Fprintf(&steps, "  - { id: b%d, %s, next: join }\n", i, kind)
	}
	w := begin(t, "steps:\n  - { id: fork, parallel: ["+strings.TrimSuffix(ids.String(), ", ")+"], next: done }\n"+
		steps.String()+"  - { id: done, finish: ok }", limit(1000))
	if !strings.HasPrefix(kind, "agent") {
		return w, nil
	}
	claims := make([]run.Granted, branches)
	for i := range claims {
		claims[i] = w.claim(ada, fmt.Sprint("b", i))
	}
	return w, claims
}

// fits says that a record takes no more than who stores it counts on.
func fits(t *testing.T, w *world) {
	t.Helper()
	record, err := json.Marshal(w.r.Record)
	require.NoError(t, err)
	require.Less(t, len(record), 1000+roomForNotes+run.Share(w.r.Process)+2000)
}

func TestTheNotesOfARunAreBounded(t *testing.T) {
	note := strings.Repeat("<", 1000) // six bytes each, as JSON
	t.Run("of claims", func(t *testing.T) {
		w, claims := wide(t, "agent: Do it.")
		n := notesTaken(t, run.Invalid, "progress", func(i int) (run.Outcome, *run.Error) { return w.do(ada, renewOf(claims[i], note)) })
		require.Equal(t, 11, n)
		w.must(ada, renewOf(claims[n], ""))
		fits(t, w)
		w.pass(hour) // the notes go into the handoffs
		fits(t, w)
		w.refused(run.Invalid, ada, renewOf(w.claim(ada, "b39"), note))
	})
	t.Run("of escalations", func(t *testing.T) {
		w, claims := wide(t, "agent: Do it.")
		n := notesTaken(t, run.Invalid, "note", func(i int) (run.Outcome, *run.Error) { return w.do(ada, escalateOf(claims[i], note)) })
		require.Equal(t, 11, n)
		w.must(ada, escalateOf(claims[n], "Cannot."))
		fits(t, w)
		for i := range n {
			_, err := w.do(olga, w.decideOf(fmt.Sprint("b", i), run.ReturnedDecision, note))
			if err != nil {
				require.Equal(t, run.NotAccepted, err.Code)
			}
		}
		fits(t, w)
	})
	t.Run("of approvals", func(t *testing.T) {
		w, _ := wide(t, "person: finance, approve: Agree.")
		n := notesTaken(t, run.NotAccepted, "note", func(i int) (run.Outcome, *run.Error) {
			return w.do(finn, w.decideOf(fmt.Sprint("b", i), run.Approved, note))
		})
		require.Equal(t, 10, n)
		w.decide(finn, fmt.Sprint("b", n), run.Approved, "")
		fits(t, w)
	})
	t.Run("of refused submissions, of which the caller hears all the same", func(t *testing.T) {
		w, claims := wide(t, "agent: Do it.")
		xs := strings.Repeat("x", 4000)
		for i := range branches {
			issues := w.refused(run.NotAccepted, ada, submitOf(claims[i], run.Submission{Output: json.RawMessage(`{"` + xs + `":1}`)}))
			require.Contains(t, issues[0], xs)
		}
		require.Contains(t, w.step("b0").Handoff.Issues[0], xs)
		require.Equal(t, []string{"2 issues, for which the run has no room"}, w.step("b39").Handoff.Issues)
		fits(t, w)
	})
}
