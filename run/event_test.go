package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

const waits = `
steps:
  - { id: first, wait_for: paid }
  - { id: second, wait_for: paid, timeout: 2h, on_timeout: late }
  - { id: done, finish: ok }
  - { id: late, finish: too_late }`

func TestWaitFor(t *testing.T) {
	t.Run("it continues when the event is delivered, and records sender and data (spec §3.1, §3.6)", func(t *testing.T) {
		w := begin(t, waits)
		o := w.must(ada, eventOf("paid", `{"n":1.50}`))
		require.Equal(t, "first", o.ConsumedBy)
		require.Equal(t, "done waiting - -", w.states())
		require.JSONEq(t, `{"output":{"n":1.50},"by":"a_ada","at":"2026-10-06T09:00:00Z"}`, w.current("first"))
		require.Contains(t, w.current("first"), "1.50")
	})
	t.Run("an event without data records no output", func(t *testing.T) {
		w := begin(t, waits)
		w.must(olga, eventOf("paid", ""))
		require.JSONEq(t, `{"by":"olga@example.com","at":"2026-10-06T09:00:00Z"}`, w.current("first"))
	})
	t.Run("each delivery satisfies one wait (spec §3.6)", func(t *testing.T) {
		w := begin(t, waits)
		w.must(ada, eventOf("paid", ""))
		require.Equal(t, "done waiting - -", w.states())
		require.Equal(t, "second", w.must(ada, eventOf("paid", "")).ConsumedBy)
		require.Equal(t, "done done done -", w.states())
	})
	t.Run("names compare exactly (spec §3.6)", func(t *testing.T) {
		w := begin(t, waits)
		require.Empty(t, w.must(ada, eventOf("paid-", "")).ConsumedBy)
		require.Equal(t, "waiting - - -", w.states())
	})
	t.Run("a timeout continues at on_timeout, by the server and without output (spec §2.2)", func(t *testing.T) {
		w := begin(t, waits)
		w.pass(hour)
		w.must(ada, eventOf("paid", ""))
		w.pass(2 * hour)
		require.Equal(t, "done done - done", w.states())
		require.Equal(t, "too_late", *w.r.Outcome)
		require.JSONEq(t, `{"by":"server","at":"2026-10-06T12:00:00Z"}`, w.current("second"))
	})
	t.Run("without on_timeout it continues at next (spec §2.2)", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: first, wait_for: paid, timeout: 2h }
  - { id: done, finish: ok }`)
		w.pass(2 * hour)
		require.Equal(t, "ok", *w.r.Outcome)
	})
	t.Run("an event that comes with the timeout comes too late", func(t *testing.T) {
		w := begin(t, waits)
		w.must(ada, eventOf("paid", ""))
		w.now = w.now.Add(2 * hour)
		require.Equal(t, []string{"run_ended"}, w.refused(run.Conflict, ada, eventOf("paid", "")))
	})
	t.Run("without timeout it waits for ever (spec §2.2)", func(t *testing.T) {
		w := begin(t, waits)
		require.True(t, w.r.NextDeadline().IsZero())
		w.pass(1000000 * hour)
		require.Equal(t, "waiting - - -", w.states())
	})
}

func TestHeldEvents(t *testing.T) {
	const later = `
steps:
  - { id: screen, agent: A. }
  - { id: first, wait_for: paid }
  - { id: again, agent: A. }
  - { id: second, wait_for: paid }
  - { id: done, finish: ok }`
	t.Run("an event before its wait is kept and consumed when the step becomes ready (spec §3.6)", func(t *testing.T) {
		w := begin(t, later)
		before := w.r.Snapshot
		require.Empty(t, w.must(ada, eventOf("paid", `{"n":1}`)).ConsumedBy)
		require.Equal(t, before, w.r.Snapshot, "a held event is not run data")
		w.pass(minute)
		w.work(bob, "screen", run.Submission{})
		require.Equal(t, "done done ready - -", w.states())
		require.JSONEq(t, `{"output":{"n":1},"by":"a_ada","at":"2026-10-06T09:01:00Z"}`, w.current("first"))
		require.Empty(t, w.r.Held)
	})
	t.Run("held events of one name are consumed oldest first, one a wait (spec §3.6)", func(t *testing.T) {
		w := begin(t, later)
		for _, e := range []string{`{"n":1}`, `{"n":2}`, `{"n":3}`} {
			w.must(ada, eventOf("other", e))
			w.must(ada, eventOf("paid", e))
		}
		w.work(bob, "screen", run.Submission{})
		require.Contains(t, w.current("first"), `{"n":1}`)
		require.Len(t, w.r.Held, 5)
		w.work(bob, "again", run.Submission{})
		require.Contains(t, w.current("second"), `{"n":2}`)
	})
	t.Run("what nothing consumed is discarded when the run ends (spec §3.6)", func(t *testing.T) {
		w := begin(t, later)
		w.must(ada, eventOf("other", ""))
		w.must(olga, cancelOf("Stop."))
		require.Empty(t, w.r.Held)
	})
}

func TestWhoSendsEvents(t *testing.T) {
	t.Run("an agent and an operator may, another person may not (spec §3.6)", func(t *testing.T) {
		w := begin(t, waits)
		w.refused(run.Forbidden, finn, eventOf("paid", ""))
		w.must(olga, eventOf("x", ""))
		w.must(ada, eventOf("x", ""))
	})
	for name, data := range map[string]string{
		"no JSON": `{`, "no object": `[]`, "null": `null`, "one key twice": `{"a":1,"a":2}`,
		"half a character": `{"a":"\udc00"}`, "two values": `{}{}`,
	} {
		t.Run("data that is "+name+" is invalid (tools send_event)", func(t *testing.T) {
			w := begin(t, waits)
			w.refused(run.Invalid, ada, eventOf("paid", data))
		})
	}
}
