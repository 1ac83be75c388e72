package run_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

// oneAgent is the least that an agent can work.
const oneAgent = `
steps:
  - { id: screen, agent: Screen it. }
  - { id: done, finish: screened }`

func TestClaim(t *testing.T) {
	t.Run("a claim lasts the lease (spec §3.3)", func(t *testing.T) {
		w := begin(t, oneAgent)
		g := w.claim(ada, "screen")
		require.Equal(t, epoch.Add(lease), g.ExpiresAt)
		require.Equal(t, "k1", g.Key)
		require.Equal(t, "claimed -", w.states())
		require.Equal(t, run.Active, w.r.State)
	})
	t.Run("a step that another agent holds is claimed_by_other (tools claim)", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.claim(ada, "screen")
		require.Equal(t, []string{"claimed_by_other"}, w.refused(run.Conflict, bob, claimOf("screen")))
	})
	t.Run("a step that the caller holds is claimed_by_you (tools claim)", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.claim(ada, "screen")
		require.Equal(t, []string{"claimed_by_you"}, w.refused(run.Conflict, ada, claimOf("screen")))
	})
	t.Run("a step that is not reached is not_ready (tools claim)", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: first, agent: A. }
  - { id: second, agent: B. }
  - { id: done, finish: ok }`)
		require.Equal(t, []string{"not_ready"}, w.refused(run.Conflict, ada, claimOf("second")))
		w.work(ada, "first", run.Submission{})
		require.Equal(t, []string{"not_ready"}, w.refused(run.Conflict, ada, claimOf("first")))
	})
	t.Run("an escalated step is not_ready (spec §3.3)", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.must(ada, escalateOf(w.claim(ada, "screen"), "Help."))
		require.Equal(t, []string{"not_ready"}, w.refused(run.Conflict, bob, claimOf("screen")))
	})
	t.Run("a step that agents do not work is forbidden (tools claim)", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.refused(run.Forbidden, ada, claimOf("done"))
	})
	t.Run("a person claims nothing (spec §4.1)", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.refused(run.Forbidden, olga, claimOf("screen"))
	})
	t.Run("a step that the process does not have is not_found (spec §4.3)", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.refused(run.NotFound, ada, claimOf("nowhere"))
	})
	t.Run("when a lease ends the step is claimable at once (spec §3.3)", func(t *testing.T) {
		w := begin(t, oneAgent)
		g := w.claim(ada, "screen")
		w.now = w.now.Add(lease - time.Millisecond)
		require.Equal(t, []string{"claimed_by_other"}, w.refused(run.Conflict, bob, claimOf("screen")))
		w.now = w.now.Add(time.Millisecond)
		w.claim(bob, "screen")
		w.refused(run.Stale, ada, submitOf(g, run.Submission{}))
	})
	t.Run("who lost a lease may claim again, with another number (spec §6 rule 2)", func(t *testing.T) {
		w := begin(t, oneAgent)
		first := w.claim(ada, "screen")
		w.pass(lease)
		second := w.claim(ada, "screen")
		require.NotEqual(t, first.Number, second.Number)
		w.refused(run.Stale, ada, submitOf(first, run.Submission{}))
		w.must(ada, submitOf(second, run.Submission{}))
	})
	t.Run("work is listed from when the lease ended (tools get_work)", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.claim(ada, "screen")
		w.pass(3 * hour)
		work, ok := w.r.AgentWork("screen")
		require.True(t, ok)
		require.Equal(t, epoch.Add(lease), work.ReadySince)
	})
	t.Run("a lease of any size is a lease", func(t *testing.T) {
		for _, seconds := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
			w := begin(t, oneAgent)
			c := claimOf("screen")
			c.Claim.Lease = seconds
			g := *w.must(ada, c).Claim
			require.False(t, g.ExpiresAt.Before(epoch))
			require.Less(t, g.ExpiresAt.Year(), 2030)
		}
	})
}

func TestHolder(t *testing.T) {
	calls := map[string]func(run.Granted) run.Command{
		"renew":    func(g run.Granted) run.Command { return renewOf(g, "") },
		"submit":   func(g run.Granted) run.Command { return submitOf(g, run.Submission{}) },
		"escalate": func(g run.Granted) run.Command { return escalateOf(g, "Help.") },
	}
	for name, call := range calls {
		t.Run(name+" with a token whose lease ended is stale (spec §6 rule 2)", func(t *testing.T) {
			w := begin(t, oneAgent)
			g := w.claim(ada, "screen")
			w.now = w.now.Add(lease)
			w.refused(run.Stale, ada, call(g))
		})
		t.Run(name+" with a token of a claim that was replaced is stale (spec §6 rule 2)", func(t *testing.T) {
			w := begin(t, oneAgent)
			g := w.claim(ada, "screen")
			w.renew(ada, g, "")
			w.refused(run.Stale, ada, call(g))
		})
		t.Run(name+" after the step was escalated is stale (tools escalate)", func(t *testing.T) {
			w := begin(t, oneAgent)
			g := w.claim(ada, "screen")
			w.must(ada, escalateOf(g, "Help."))
			w.refused(run.Stale, ada, call(g))
		})
		t.Run(name+" with another agent's token is forbidden", func(t *testing.T) {
			w := begin(t, oneAgent)
			g := w.claim(ada, "screen")
			w.refused(run.Forbidden, bob, call(g))
			w.refused(run.Forbidden, run.Actor{ID: ada.ID, Person: true}, call(g))
		})
		t.Run(name+" on a step that the process does not have is not_found", func(t *testing.T) {
			w := begin(t, oneAgent)
			w.refused(run.NotFound, ada, call(run.Granted{Holder: run.Holder{StepID: "nowhere", Number: 1}}))
		})
	}
}

func TestRenew(t *testing.T) {
	t.Run("the new expiry is now plus the lease (spec §3.3)", func(t *testing.T) {
		w := begin(t, oneAgent)
		g := w.claim(ada, "screen")
		w.pass(4 * minute)
		n := w.renew(ada, g, "")
		require.Equal(t, w.now.Add(lease), n.ExpiresAt)
		require.Equal(t, "k2", n.Key)
		w.pass(lease - time.Millisecond)
		w.must(ada, submitOf(n, run.Submission{}))
	})
	t.Run("the latest progress note is kept while the step is claimed (spec §3.3)", func(t *testing.T) {
		w := begin(t, oneAgent)
		g := w.renew(ada, w.claim(ada, "screen"), "Half.")
		require.Equal(t, "Half.", w.step("screen").Claim.Progress)
		g = w.renew(ada, g, " ")
		require.Equal(t, "Half.", w.step("screen").Claim.Progress, "no note is no news")
		w.renew(ada, g, "Most.")
		require.Equal(t, "Most.", w.step("screen").Claim.Progress)
		require.Equal(t, "null", w.handoff("screen"), "it is handed over only when the lease ends")
	})
	t.Run("a renewal does not restart the due clock (spec §2.2)", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: screen, agent: A., due: 5m }
  - { id: done, finish: ok }`)
		g := w.claim(ada, "screen")
		w.pass(4 * minute)
		w.renew(ada, g, "")
		w.pass(minute)
		require.True(t, w.step("screen").Overdue)
		require.Equal(t, run.StepClaimed, w.step("screen").State)
	})
}
