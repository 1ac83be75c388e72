package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

func TestDue(t *testing.T) {
	const front = `
steps:
  - { id: screen, agent: A., due: 30m }
  - { id: approve, person: finance, approve: B?, due: 2h }
  - { id: done, finish: ok }`
	t.Run("when due passes the step is overdue and stays open (spec §2.2)", func(t *testing.T) {
		w := begin(t, front)
		w.pass(30*minute - time.Millisecond)
		require.False(t, w.step("screen").Overdue)
		w.pass(time.Millisecond)
		require.True(t, w.step("screen").Overdue)
		require.Equal(t, "ready - -", w.states())
		work, _ := w.r.AgentWork("screen")
		require.True(t, work.Overdue)
		require.Equal(t, epoch.Add(30*minute), *work.Due)
		w.work(ada, "screen", run.Submission{})
		require.Equal(t, w.now.Add(2*hour), *w.step("approve").Due, "the clock starts when the step becomes ready")
	})
	t.Run("due and overdue are shown while the step is open", func(t *testing.T) {
		w := begin(t, front)
		w.pass(hour)
		w.work(ada, "screen", run.Submission{})
		v := w.r.View()
		require.Nil(t, v.Steps[0].Due)
		require.Nil(t, v.Steps[0].Overdue)
		require.Equal(t, w.now.Add(2*hour), *v.Steps[1].Due)
		require.False(t, *v.Steps[1].Overdue)
		require.Nil(t, v.Steps[2].Due)
	})
	t.Run("overdue tells the assignee and the operators (spec §2.2)", func(t *testing.T) {
		w := begin(t, front)
		w.pass(30 * minute)
		require.Equal(t, []run.Notification{{
			ID: "r_1-1", Kind: run.NotifyOverdue, StepID: "screen", To: []run.Assignment{{Group: run.OperatorGroup}},
			Due: w.r.Steps[0].Due, At: w.now,
		}}, w.r.Outbox)
		w.work(ada, "screen", run.Submission{})
		w.r.Delivered([]string{"r_1-1"})
		w.pass(2 * hour)
		require.Len(t, w.r.Outbox, 2)
		require.Equal(t, run.NotifyWork, w.r.Outbox[0].Kind)
		require.Equal(t, []run.Assignment{{Group: "g_finance"}}, w.r.Outbox[0].To)
		require.Equal(t, run.NotifyOverdue, w.r.Outbox[1].Kind)
		require.Equal(t, []run.Assignment{{Group: "g_finance"}, {Group: run.OperatorGroup}}, w.r.Outbox[1].To)
		require.Equal(t, "r_1-3", w.r.Outbox[1].ID)
	})
	t.Run("operators are told once of an escalated step that is overdue", func(t *testing.T) {
		w := begin(t, front)
		w.must(ada, escalateOf(w.claim(ada, "screen"), "Help."))
		w.pass(hour)
		require.Equal(t, []run.Assignment{{Group: run.OperatorGroup}}, w.r.Outbox[0].To)
		require.Equal(t, run.NotifyEscalated, w.r.Outbox[0].Kind)
		require.Equal(t, []run.Assignment{{Group: run.OperatorGroup}}, w.r.Outbox[1].To)
	})
	t.Run("a test run notifies nobody (spec §3.3)", func(t *testing.T) {
		w := begin(t, front, inMode(run.Test))
		w.pass(hour)
		w.work(ada, "screen", run.Submission{})
		require.Empty(t, w.r.Outbox)
		require.Equal(t, run.Test, w.r.View().WorkItems[0].Mode)
	})
}

func TestWait(t *testing.T) {
	const front = `
steps:
  - { id: pause, wait: 90m }
  - { id: done, finish: ok }`
	t.Run("a wait continues after its duration, by the server (spec §2.2, §3.1)", func(t *testing.T) {
		w := begin(t, front)
		require.Equal(t, "waiting -", w.states())
		require.Equal(t, run.Waiting, w.r.State)
		require.Equal(t, epoch.Add(90*minute), w.r.NextDeadline())
		w.pass(90*minute - time.Millisecond)
		require.Equal(t, "waiting -", w.states())
		w.pass(time.Millisecond)
		require.Equal(t, "done done", w.states())
		require.JSONEq(t, `{"by":"server","at":"2026-10-06T10:30:00Z"}`, w.current("pause"))
	})
	t.Run("whoever notices late, it continued when it was due", func(t *testing.T) {
		w := begin(t, front)
		w.pass(50 * hour)
		require.Equal(t, epoch.Add(90*minute), w.r.Record.Ended.At)
		require.Equal(t, epoch.Add(90*minute), w.r.UpdatedAt)
	})
	t.Run("a wait longer than a Go duration is kept within the years that can be written", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: pause, wait: 1000000d }
  - { id: pause2, wait: 1000000d }
  - { id: pause3, wait: 1000000d }
  - { id: done, finish: ok }`)
		require.Equal(t, 4764, w.r.NextDeadline().Year())
		w.now = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
		w.pass(0)
		require.Equal(t, "done done done done", w.states())
	})
}

func TestWaitUntil(t *testing.T) {
	const front = `
inputs: { when: { type: datetime, optional: true } }
steps:
  - { id: until, wait_until: inputs.when }
  - { id: done, finish: ok }`
	t.Run("it continues at the moment that run data holds (spec §2.2)", func(t *testing.T) {
		w := begin(t, front, inputs(`{"when":"2026-10-06T12:00:00+02:00"}`))
		require.Equal(t, "waiting -", w.states())
		require.Equal(t, epoch.Add(hour), w.r.NextDeadline())
		w.pass(hour)
		require.Equal(t, "done done", w.states())
	})
	t.Run("never early: a moment finer than a millisecond is rounded up", func(t *testing.T) {
		w := begin(t, front, inputs(`{"when":"2026-10-06T10:00:00.0001Z"}`))
		w.pass(hour)
		require.Equal(t, "waiting -", w.states())
		w.pass(time.Millisecond)
		require.Equal(t, "done done", w.states())
	})
	for name, when := range map[string]string{
		"long past": "0001-01-01T00:00:00Z", "before the year one": "0001-01-01T00:00:00+14:00",
		"just past": "2026-10-06T08:59:59.999Z", "now": "2026-10-06T09:00:00Z",
	} {
		t.Run("a time already past continues at once: "+name+" (spec §2.2)", func(t *testing.T) {
			w := begin(t, front, inputs(`{"when":"`+when+`"}`))
			require.Equal(t, "done done", w.states())
			require.JSONEq(t, `{"by":"server","at":"2026-10-06T09:00:00Z"}`, w.current("until"))
		})
	}
	t.Run("the end of time can be waited for", func(t *testing.T) {
		w := begin(t, front, inputs(`{"when":"9999-12-31T23:59:59.9999-12:00"}`))
		require.Equal(t, 9999, w.r.NextDeadline().Year())
	})
	t.Run("a missing value fails the run (spec §2.2, §3.5)", func(t *testing.T) {
		w := begin(t, front)
		require.Equal(t, "failed -", w.states())
		require.Equal(t, "failed", *w.r.Outcome)
		require.Equal(t, run.Server, w.r.Record.Ended.By)
		require.Equal(t, "wait_until: inputs.when holds no datetime", *w.r.Record.Ended.Note)
	})
	t.Run("an invalid value fails the run (spec §2.2)", func(t *testing.T) {
		s := startOf(parse(t, front), inputs(`{"when":"soon"}`))
		w := &world{t: t, r: run.New(s, epoch), now: epoch}
		require.Equal(t, "failed -", w.states())
	})
	t.Run("a moment that an output holds (spec §2.2)", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: plan, agent: A., output: { at: datetime } }
  - { id: until, wait_until: steps.plan.output.at }
  - { id: done, finish: ok }`)
		w.work(ada, "plan", run.Submission{Output: json.RawMessage(`{"at":"2026-10-06T10:00:00Z"}`)})
		require.Equal(t, "done waiting -", w.states())
	})
}
