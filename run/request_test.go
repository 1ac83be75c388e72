package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

// replay sends a command again as it was, in another attempt.
func replay(w *world, c run.Command) (run.Outcome, *run.Error) {
	c.Attempt, c.NotAfter = c.Attempt+"_again", w.now.Add(30*time.Second)
	return carry(w.t, w.r, c, w.now)
}

func TestAWriteIsIdempotentOnItsRequestID(t *testing.T) {
	t.Run("repeating it returns the original result and changes nothing (spec §4)", func(t *testing.T) {
		w := begin(t, oneAgent)
		c := w.command(ada, claimOf("screen"))
		first, err := carry(t, w.r, c, w.now)
		require.Nil(t, err)
		text := asJSON(t, w.r)
		again, err := replay(w, c)
		require.Nil(t, err)
		require.Equal(t, first, again)
		require.Equal(t, text, asJSON(t, w.r))
	})
	t.Run("even if the lease has ended since, or another holds the step (spec §3.3)", func(t *testing.T) {
		w := begin(t, oneAgent)
		c := w.command(ada, claimOf("screen"))
		first, _ := carry(t, w.r, c, w.now)
		w.pass(lease)
		w.claim(bob, "screen")
		again, err := replay(w, c)
		require.Nil(t, err)
		require.Equal(t, first, again)
		require.Equal(t, bob.ID, w.step("screen").Claim.By)
	})
	t.Run("even if the run has ended since (spec §3.5)", func(t *testing.T) {
		w := begin(t, oneAgent)
		g := w.claim(ada, "screen")
		c := w.command(ada, submitOf(g, run.Submission{}))
		_, err := carry(t, w.r, c, w.now)
		require.Nil(t, err)
		require.True(t, w.r.Over())
		_, err = replay(w, c)
		require.Nil(t, err)
	})
	t.Run("repeating it with other arguments is a conflict, before anything else (spec §4)", func(t *testing.T) {
		w := begin(t, oneAgent)
		c := w.command(ada, claimOf("screen"))
		_, _ = carry(t, w.r, c, w.now)
		w.must(olga, cancelOf("Stop."))
		c.Digest = "other"
		_, err := replay(w, c)
		require.Equal(t, run.RequestReused(), err)
	})
	t.Run("the request that started the run is one of them", func(t *testing.T) {
		w := begin(t, oneAgent)
		c := w.command(ada, claimOf("screen"))
		c.RequestID = "start"
		_, err := replay(w, c)
		require.Equal(t, run.RequestReused(), err)
		require.Equal(t, "start_run", w.r.Requests[0].Tool)
	})
	t.Run("a call that was refused is not recorded, so a retry can succeed (spec §4)", func(t *testing.T) {
		w := begin(t, oneAgent)
		g := w.claim(ada, "screen")
		c := w.command(bob, claimOf("screen"))
		_, err := carry(t, w.r, c, w.now)
		require.Equal(t, run.Conflict, err.Code)
		w.must(ada, escalateOf(g, "x"))
		w.decide(olga, "screen", run.ReturnedDecision, "y")
		_, err = replay(w, c)
		require.Nil(t, err)
	})
	t.Run("an attempt that comes too late is to be sent again", func(t *testing.T) {
		w := begin(t, oneAgent)
		c := w.command(ada, claimOf("screen"))
		w.now = c.NotAfter.Add(time.Millisecond)
		_, err := carry(t, w.r, c, w.now)
		require.Equal(t, run.Retry, err.Code)
		c.NotAfter = w.now
		_, err = carry(t, w.r, c, w.now)
		require.Nil(t, err, "the last moment is not too late")
	})
	t.Run("too late or not is judged to the millisecond, by Check as by Execute", func(t *testing.T) {
		w := begin(t, oneAgent)
		c := w.command(ada, claimOf("screen"))
		_, err := carry(t, w.r, c, c.NotAfter.Add(time.Microsecond))
		require.Nil(t, err)
	})
	t.Run("too late is no matter for what was carried out, nor for a run that ended", func(t *testing.T) {
		w := begin(t, oneAgent)
		c := w.command(ada, claimOf("screen"))
		_, _ = carry(t, w.r, c, w.now)
		_, err := carry(t, w.r, c, w.now.Add(time.Hour))
		require.Nil(t, err)
		w.must(olga, cancelOf("Stop."))
		late := w.command(ada, claimOf("screen"))
		_, err = carry(t, w.r, late, w.now.Add(time.Hour))
		require.Equal(t, run.Retry, err.Code)
	})
}

func TestWhatWasStoredIsForgotten(t *testing.T) {
	w := begin(t, oneAgent)
	w.claim(ada, "screen")
	require.Equal(t, 2, w.r.CountUnstored())
	w.r.MarkStored([]string{"start", "unknown"}, w.now)
	require.Equal(t, 1, w.r.CountUnstored())
	require.Equal(t, "q_1", w.r.Unstored()[0].ID)
	require.Len(t, w.r.Requests, 2, "a request is known a while longer")
	w.r.MarkStored(nil, w.now.Add(2*time.Minute))
	require.Len(t, w.r.Requests, 1, "what is not stored is never forgotten")
	w.r.MarkStored([]string{"q_1"}, w.now.Add(2*time.Minute))
	w.r.MarkStored(nil, w.now.Add(5*time.Minute))
	require.Empty(t, w.r.Requests)
	require.Zero(t, w.r.CountUnstored())
}

func TestARunContinuesFromWhereItWasWrittenDown(t *testing.T) {
	w := begin(t, rework)
	g := w.renew(ada, w.claim(ada, "draft"), "Half.")
	back := &run.Run{}
	require.NoError(t, json.Unmarshal([]byte(asJSON(t, w.r)), back))
	back.Process = w.r.Process
	w.r = back
	w.must(ada, submitOf(g, run.Submission{}))
	require.Equal(t, "done ready - - -", w.states())
}

func TestARecordSaysWhatAWriteWouldSay(t *testing.T) {
	w := begin(t, rework)
	w.claim(ada, "draft")
	var record run.Record
	require.NoError(t, json.Unmarshal([]byte(asJSON(t, w.r.Record)), &record))
	r := run.Open(w.r.Process, record)
	c := w.command(bob, claimOf("draft"))
	require.Equal(t, w.r.Check(c, w.now), r.Check(c, w.now))
	require.Equal(t, asJSON(t, w.r.View()), asJSON(t, r.View()))
	w.now = w.now.Add(lease)
	c.NotAfter = w.now
	require.Nil(t, r.Check(c, w.now))
}
