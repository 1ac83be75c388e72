package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

func TestHandoff(t *testing.T) {
	t.Run("is null on a first attempt (spec §3.3)", func(t *testing.T) {
		w := begin(t, oneAgent)
		work, _ := w.r.AgentWork("screen")
		require.Nil(t, work.Handoff)
		require.Nil(t, w.r.ClaimView(w.claim(ada, "screen")).Handoff)
	})
	t.Run("holds the last progress note after a lease expired (spec §3.3)", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.renew(ada, w.claim(ada, "screen"), "Half done.")
		w.pass(lease)
		work, _ := w.r.AgentWork("screen")
		require.JSONEq(t, `{"progress":"Half done."}`, asJSON(t, work.Handoff))
		require.JSONEq(t, `{"progress":"Half done."}`, asJSON(t, w.r.ClaimView(w.claim(bob, "screen")).Handoff))
	})
	t.Run("stays null after a lease that expired without a note", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.claim(ada, "screen")
		w.pass(lease)
		require.Equal(t, "null", w.handoff("screen"))
	})
	t.Run("keeps the last note there was over an attempt without one", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.renew(ada, w.claim(ada, "screen"), "Half done.")
		w.pass(lease)
		w.claim(bob, "screen")
		w.pass(lease)
		require.JSONEq(t, `{"progress":"Half done."}`, w.handoff("screen"))
		w.renew(bob, w.claim(bob, "screen"), "Nearly.")
		w.pass(lease)
		require.JSONEq(t, `{"progress":"Nearly."}`, w.handoff("screen"))
	})
	t.Run("holds the issues of the last submission that was not accepted (spec §3.3)", func(t *testing.T) {
		w := begin(t, oneAgent)
		g := w.claim(ada, "screen")
		w.refused(run.NotAccepted, ada, submitOf(g, run.Submission{Next: stringP("x")}))
		w.refused(run.NotAccepted, ada, submitOf(g, run.Submission{Reason: stringP("x")}))
		w.pass(lease)
		require.JSONEq(t, `{"issues":["reason: not allowed, this step has no routes to choose from"]}`, w.handoff("screen"))
	})
	t.Run("holds several at once (tools get_work)", func(t *testing.T) {
		w := begin(t, oneAgent)
		g := w.claim(ada, "screen")
		w.refused(run.NotAccepted, ada, submitOf(g, run.Submission{Reason: stringP("x")}))
		w.must(ada, escalateOf(g, "Help."))
		w.decide(olga, "screen", run.ReturnedDecision, "Go on.")
		w.renew(bob, w.claim(bob, "screen"), "Half.")
		w.pass(lease)
		h := w.step("screen").Handoff
		require.Equal(t, "Half.", h.Progress)
		require.Equal(t, "Go on.", h.Returned.Note)
		require.Len(t, h.Issues, 1)
	})
	t.Run("is null again after on_reject: a fresh attempt", func(t *testing.T) {
		w := begin(t, rework)
		g := w.renew(ada, w.claim(ada, "draft"), "Half.")
		w.refused(run.NotAccepted, ada, submitOf(g, run.Submission{Reason: stringP("x")}))
		w.pass(lease)
		w.work(ada, "draft", run.Submission{})
		w.work(ada, "polish", run.Submission{})
		w.decide(finn, "approve", run.Rejected, "No.")
		require.Equal(t, "null", w.handoff("draft"))
		require.Nil(t, w.r.ClaimView(w.claim(ada, "draft")).Handoff)
	})
}

func TestSnapshot(t *testing.T) {
	w := begin(t, approval)
	unchanged := func(what string, act func()) {
		before := w.r.Snapshot
		act()
		require.Equal(t, before, w.r.Snapshot, what)
	}
	changed := func(what string, act func()) {
		before := w.r.Snapshot
		act()
		require.NotEqual(t, before, w.r.Snapshot, what)
	}
	var g run.Granted
	unchanged("a claim changes no run data", func() { g = w.claim(ada, "screen") })
	unchanged("nor does a renewal", func() { g = w.renew(ada, g, "Half.") })
	unchanged("nor a submission that is not accepted", func() { w.refused(run.NotAccepted, ada, submitOf(g, run.Submission{Next: stringP("x")})) })
	unchanged("nor an escalation", func() { w.must(ada, escalateOf(g, "Help.")) })
	unchanged("nor giving it back", func() { w.decide(olga, "screen", run.ReturnedDecision, "Go on.") })
	unchanged("nor an event that is held", func() { w.must(ada, eventOf("e", "")) })
	unchanged("nor a lease that ends", func() { w.claim(ada, "screen"); w.pass(lease) })
	changed("an accepted submission does", func() { w.work(ada, "screen", run.Submission{}) })
	unchanged("work that becomes overdue does not", func() { w.pass(72 * hour); require.True(t, w.step("approve").Overdue) })
	changed("an approval does", func() { w.decide(finn, "approve", run.Approved, "") })
	unchanged("cancelling does not", func() { w.must(olga, cancelOf("Stop.")) })
}

func TestASnapshotIsOfTheDataAlone(t *testing.T) {
	one := begin(t, approval)
	two := begin(t, approval, by(finn))
	two.pass(hour)
	require.Equal(t, one.r.Snapshot, two.r.Snapshot)
	with := begin(t, "inputs: { a: { type: number, optional: true } }"+approval, inputs(`{"a":1.0}`))
	same := begin(t, "inputs: { a: { type: number, optional: true } }"+approval, inputs(`{ "a" : 1.0 }`))
	other := begin(t, "inputs: { a: { type: number, optional: true } }"+approval, inputs(`{"a":1}`))
	require.Equal(t, with.r.Snapshot, same.r.Snapshot, "white space is nothing")
	require.NotEqual(t, with.r.Snapshot, other.r.Snapshot, "the text of a number is kept")
}
