package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

// Each delivery satisfies one wait (spec §3.6), also where branches wait for the
// same event at the same time.
func TestAnEventThatTwoBranchesWaitForGoesToOneOfThem(t *testing.T) {
	const front = `
steps:
  - { id: open, agent: A. }
  - { id: fork, parallel: [late, early], next: done }
  - { id: early, wait_for: paid, next: join }
  - { id: late, wait_for: paid, next: join }
  - { id: done, finish: ok }`
	t.Run("to the first in the file", func(t *testing.T) {
		w := begin(t, front)
		w.work(ada, "open", run.Submission{})
		require.Equal(t, "early", w.must(ada, eventOf("paid", `{"n":1}`)).ConsumedBy)
		require.Equal(t, "done waiting done waiting -", w.states())
		require.Equal(t, "late", w.must(ada, eventOf("paid", `{"n":2}`)).ConsumedBy)
		require.Equal(t, run.Ended, w.r.State)
		require.Contains(t, w.current("early"), `{"n":1}`)
		require.Contains(t, w.current("late"), `{"n":2}`)
	})
	t.Run("held ones to the branches as the parallel step lists them, and both may join in the write that forks", func(t *testing.T) {
		w := begin(t, front)
		w.must(ada, eventOf("paid", `{"n":1}`))
		w.must(ada, eventOf("paid", `{"n":2}`))
		w.work(ada, "open", run.Submission{})
		require.Equal(t, run.Ended, w.r.State)
		require.Contains(t, w.current("late"), `{"n":1}`)
		require.Contains(t, w.current("early"), `{"n":2}`)
		require.Empty(t, w.r.Held)
	})
}
