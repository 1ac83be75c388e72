package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// twoAgents is a fork into two agent steps.
const twoAgents = `
steps:
  - { id: fork, parallel: [a, b], next: done }
  - { id: a, agent: A., next: join }
  - { id: b, agent: B., next: join }
  - { id: done, finish: ok }`

// faults are the issues of a process that is refused.
func faults(t *testing.T, front string) {
	_, issues := process.Parse([]byte("---\nname: p\ndescription: d.\n" + front + "\n---\n"))
	require.NotEmpty(t, issues)
}

// TestQuestions asks what the review asked (parallel, Appendix A).
func TestQuestions(t *testing.T) {
	for _, q := range []struct {
		name string
		ask  func(*testing.T)
	}{
		{"01 the value of the key is a list of branch entries", func(t *testing.T) {
			require.Equal(t, []string{"a", "b"}, parse(t, twoAgents).Steps[0].Branches)
		}},
		{"02 parallel is a kind of its own, so no other kind carries it", func(t *testing.T) {
			require.Equal(t, process.Parallel, parse(t, twoAgents).Steps[0].Kind)
			faults(t, `
steps:
  - { id: fork, agent: A., parallel: [a, b], next: done }
  - { id: a, agent: A., next: join }
  - { id: b, agent: B., next: join }
  - { id: done, finish: ok }`)
		}},
		{"03 the fork happens when the step becomes ready, and leaves no timestamp", func(t *testing.T) {
			w := begin(t, twoAgents)
			require.Equal(t, "waiting ready ready -", w.states())
			require.Empty(t, w.r.Data.Steps)
		}},
		{"04 the step does no work itself", func(t *testing.T) {
			w := begin(t, twoAgents)
			w.refused(run.Forbidden, ada, claimOf("fork"))
			require.Nil(t, w.step("fork").Item)
		}},
		{"05 the branches are activated in one write", func(t *testing.T) {
			w := forked(t)
			require.Equal(t, w.step("ops").Since, w.step("security").Since)
		}},
		{"06 readiness is simultaneous, work need not be", func(t *testing.T) {
			w := begin(t, twoAgents)
			w.work(ada, "b", run.Submission{})
			w.pass(hour)
			w.work(ada, "a", run.Submission{})
			require.Equal(t, run.Ended, w.r.State)
		}},
		{"07 the join is named by next: join, and goes on at the step's own next", func(t *testing.T) {
			w := begin(t, twoAgents)
			w.work(ada, "a", run.Submission{})
			w.work(bob, "b", run.Submission{})
			require.Equal(t, "done done done done", w.states())
		}},
		{"08 the step is the join: it waits from the fork and is done with it", func(t *testing.T) {
			w := begin(t, twoAgents)
			w.work(ada, "a", run.Submission{})
			require.Equal(t, run.StepWaiting, w.step("fork").State)
			w.work(bob, "b", run.Submission{})
			require.Equal(t, run.StepDone, w.step("fork").State)
		}},
		{"09 all branches must join", func(t *testing.T) {
			w := begin(t, everything)
			w.pass(hour)
			w.work(ada, "work", run.Submission{})
			require.Equal(t, run.StepNone, w.step("done").State)
			w.decide(finn, "ask", run.Completed, "")
			w.work(ada, "tell", run.Submission{})
			require.Equal(t, run.StepDone, w.step("done").State)
		}},
		{"10 a branch holds no finish", func(t *testing.T) {
			faults(t, `
steps:
  - { id: fork, parallel: [a, b], next: done }
  - { id: a, agent: A., next: early }
  - { id: early, finish: early }
  - { id: b, agent: B., next: join }
  - { id: done, finish: ok }`)
		}},
		{"11 an entry is reachable through its parallel step", func(t *testing.T) {
			parse(t, twoAgents)
		}},
		{"12 join and parallel edges are no cycles, others are", func(t *testing.T) {
			parse(t, incident)
			faults(t, `
steps:
  - { id: fork, parallel: [a, b], next: done }
  - { id: a, agent: A., next: [a2, join] }
  - { id: a2, agent: A., next: a }
  - { id: b, agent: B., next: join }
  - { id: done, finish: ok }`)
		}},
		{"13 two branches share no step", func(t *testing.T) {
			faults(t, `
steps:
  - { id: fork, parallel: [a, b], next: done }
  - { id: a, agent: A., next: both }
  - { id: b, agent: B., next: both }
  - { id: both, agent: C., next: join }
  - { id: done, finish: ok }`)
		}},
		{"14 escalation and timeout in a branch leave siblings alone", func(t *testing.T) {
			w := begin(t, everything)
			g := w.claim(ada, "work")
			w.must(ada, escalateOf(g, "Help."))
			w.pass(hour) // the wait ends, the event times out, the task is overdue
			require.Equal(t, "waiting waiting waiting - done done -", w.states())
			w.decide(olga, "work", run.ReturnedDecision, "Go on.")
			require.Equal(t, "waiting ready waiting - done done -", w.states())
		}},
		{"15 when the run ends siblings are cancelled at once", func(t *testing.T) {
			w := begin(t, everything)
			w.decide(finn, "ask", run.FailedDecision, "No.")
			require.Equal(t, "cancelled cancelled failed - cancelled cancelled -", w.states())
		}},
		{"16 a failed branch is not retried: it has ended the run", func(t *testing.T) {
			w := begin(t, everything)
			w.decide(finn, "ask", run.FailedDecision, "No.")
			w.refused(run.Conflict, ada, claimOf("work"))
		}},
		{"17 rework makes history of one branch inside it, of all from after the join", func(t *testing.T) {
			w := forked(t)
			w.work(ada, "ops", said("Restored."))
			w.work(bob, "security", said("Contained."))
			w.decide(faye, "report", run.Completed, "")
			w.decide(finn, "vet", run.Rejected, "Unclear.")
			require.Zero(t, w.historyLength("ops"))
			w.decide(faye, "report", run.Completed, "")
			w.decide(finn, "vet", run.Approved, "")
			w.decide(finn, "review", run.Rejected, "Broken.")
			require.Equal(t, 1, w.historyLength("ops"))
			require.Equal(t, 2, w.historyLength("report"))
		}},
		{"18 a sibling's completion makes an open snapshot stale, each one", func(t *testing.T) {
			w := begin(t, everything)
			c := w.decideOf("ask", run.Completed, "")
			w.work(ada, "work", run.Submission{})
			w.refused(run.Stale, finn, c)
			c.Decide.Snapshot = w.r.Snapshot
			w.must(ada, eventOf("paid", ""))
			w.refused(run.Stale, finn, c)
		}},
		{"19 a read gives a fresh snapshot", func(t *testing.T) {
			w := begin(t, everything)
			w.work(ada, "work", run.Submission{})
			c := w.decideOf("ask", run.Completed, "")
			c.Decide.Snapshot = w.r.View().WorkItems[0].Decide.Arguments.Snapshot
			w.must(finn, c)
		}},
		{"20 a run is active while any branch has agent work, else it waits", func(t *testing.T) {
			w := begin(t, everything)
			require.Equal(t, run.Active, w.r.State)
			g := w.claim(ada, "work")
			require.Equal(t, run.Active, w.r.State)
			w.must(ada, submitOf(g, run.Submission{}))
			require.Equal(t, run.Waiting, w.r.State)
			w.decide(finn, "ask", run.Completed, "")
			require.Equal(t, run.Active, w.r.State)
		}},
		{"21 a branch holds no parallel step", func(t *testing.T) {
			faults(t, `
steps:
  - { id: fork, parallel: [a, b], next: done }
  - { id: a, parallel: [c, d], next: join }
  - { id: c, agent: A., next: join }
  - { id: d, agent: A., next: join }
  - { id: b, agent: B., next: join }
  - { id: done, finish: ok }`)
		}},
		{"22 the profile is declared by using the key", func(t *testing.T) {
			needs := parse(t, twoAgents).Needs()
			require.Equal(t, process.ParallelProfile, needs.Profiles[0].Name)
			require.Empty(t, parse(t, oneAgent).Needs().Profiles)
		}},
		{"23 the version of its meaning is parallel-1", func(t *testing.T) {
			require.Equal(t, "parallel-1", process.ParallelProfile)
		}},
	} {
		t.Run(q.name, q.ask)
	}
}
