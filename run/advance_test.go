package run_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

func TestAdvance(t *testing.T) {
	t.Run("the record does not depend on who notices a deadline, and when", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: fork, parallel: [a, b, c], next: after }
  - { id: a, agent: A., due: 5m, next: join }
  - { id: b, wait: 7m, next: b2 }
  - { id: b2, wait_for: paid, timeout: 3m, next: b3 }
  - { id: b3, person: finance, task: B., due: 1m, next: join }
  - { id: c, wait: 10m, next: join }
  - { id: after, finish: ok }`)
		w.renew(ada, w.claim(ada, "a"), "Half.")
		once := w.r.Clone()
		require.True(t, once.Advance(epoch.Add(time.Hour)))
		for at := epoch; !at.After(epoch.Add(time.Hour)); at = at.Add(7 * time.Second) {
			w.r.Advance(at)
		}
		w.r.Advance(epoch.Add(time.Hour))
		require.Equal(t, asJSON(t, once), asJSON(t, w.r))
		require.Equal(t, "waiting ready done done waiting done -", w.states())
		require.False(t, once.Advance(epoch.Add(time.Hour)), "once is enough")
	})
	t.Run("a lease ends before a wait goes on, and that before work is overdue, at one moment", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: fork, parallel: [a, b], next: after }
  - { id: a, agent: A., due: 10m, next: join }
  - { id: b, wait: 10m, next: join }
  - { id: after, finish: ok }`)
		w.claim(ada, "a")
		require.Equal(t, "lease of a ends", w.r.DeadlineSummary())
		at := w.r.NextDeadline()
		var steps []string
		for w.r.NextDeadline().Equal(at) {
			steps = append(steps, w.r.DeadlineSummary())
			before := w.r.Seq
			c := w.r.Clone()
			c.Advance(at)
			require.Equal(t, before+3, c.Seq)
			w.pass(lease)
		}
		require.Equal(t, []string{"lease of a ends"}, steps)
		require.Equal(t, "waiting ready done -", w.states())
		require.True(t, w.step("a").Overdue)
		require.Equal(t, "look again", w.r.DeadlineSummary())
	})
	t.Run("deadlines are said in words", func(t *testing.T) {
		require.Equal(t, "pause waits", begin(t, "steps: [{ id: pause, wait: 1m }, { id: done, finish: ok }]").r.DeadlineSummary())
		require.Equal(t, "screen is due", begin(t, dueAgent).r.DeadlineSummary())
	})
	t.Run("times are cut to milliseconds and told in UTC", func(t *testing.T) {
		odd := time.Date(2026, 10, 6, 11, 0, 0, 1234567, time.FixedZone("x", 7200))
		r := run.New(startOf(parse(t, oneAgent)), odd)
		require.Equal(t, epoch.Add(time.Millisecond), r.StartedAt)
	})
	t.Run("a clock that is out of its mind breaks nothing", func(t *testing.T) {
		for _, now := range []time.Time{{}, time.Unix(1<<40, 0), time.Unix(-1<<40, 0)} {
			r := run.New(startOf(parse(t, dueAgent)), now)
			checkState(t, r)
			c := (&world{t: t, r: r, now: now}).command(ada, claimOf("screen"))
			_, err := r.Execute(c, now)
			require.True(t, err == nil || err.Code == run.Retry)
			checkState(t, r)
		}
	})
	t.Run("a look at a later moment changes nothing", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.claim(ada, "screen")
		text := asJSON(t, w.r)
		c := w.command(bob, claimOf("screen"))
		c.NotAfter = epoch.Add(hour)
		require.Nil(t, w.r.Check(c, epoch.Add(hour)))
		require.Equal(t, text, asJSON(t, w.r))
	})
}
