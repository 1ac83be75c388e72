package workflows_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

const asksAndWaits = `steps:
  - { id: both, parallel: [ask, work, hear], next: end }
  - { id: ask, person: who, task: Do it., next: join }
  - { id: work, agent: Do it too., next: join }
  - { id: hear, wait_for: news, next: join }
  - { id: end, finish: done }`

// longAgo leaves a run that is due to continue as new at d, with a claim, a held
// event, and news that could not be delivered.
func longAgo(s *stage, d time.Duration) (claimed **answer) {
	claimed = new(*answer)
	s.notify = func(workflows.Delivery) error { return errDown }
	s.at(0, func() { s.open() })
	s.at(time.Minute,
		func() { *claimed = s.send(agent, "c", claim("work", time.Hour)) },
		func() { s.send(agent, "e", event("other", `{"n":12345678901234567890.123456789}`)) },
	)
	s.at(d, func() { s.SetContinueAsNewSuggested(true); s.send(agent, "e2", event("more", `{}`)) })
	return claimed
}

func TestARunContinuesAsNewWithAllItHolds(t *testing.T) {
	s := newStage(t)
	first := longAgo(s, 12*time.Minute) // the news of the item has been given up by then
	in := s.next(s.play(input(t, run.Live, asksAndWaits)))
	require.Nil(t, in.Start)
	var stored []string
	for _, p := range s.stored {
		stored = append(stored, ids(p.Requests)...)
	}
	require.Equal(t, []string{"start", "c", "e"}, stored, "what was there when it became long is stored before")
	require.Equal(t, []string{"start", "c", "e", "e2"}, ids(in.Resume.Run.Requests), "and known after, with what came since")
	require.Equal(t, 1, in.Resume.Run.CountUnstored())
	require.Equal(t, "other", in.Resume.Run.Held[0].Name)
	require.JSONEq(t, `{"n":12345678901234567890.123456789}`, string(in.Resume.Run.Held[0].Data))
	require.Contains(t, string(in.Resume.Run.Held[0].Data), "12345678901234567890.123456789")

	next := newStage(t)
	next.SetStartTime(epoch.Add(12 * time.Minute))
	var again, other, submitted *answer
	next.at(time.Second,
		func() { again = next.send(agent, "c", claim("work", time.Hour)) },
		func() {
			c := claim("work", time.Hour)
			c.Digest = "other"
			other = next.send(agent, "c", c)
		},
		func() { submitted = next.send(agent, "s", submit(again)) },
		func() { next.send(boss, "end", cancel()) },
	)
	require.NoError(t, next.play(in))
	require.Equal(t, (*first).written.Outcome, again.written.Outcome, "the outcome it had")
	require.Equal(t, []string{"request_reused"}, refusal(t, other).Issues)
	require.NoError(t, submitted.err)
	require.Equal(t, []string{"e2", "s", "end"}, ids(next.last().Requests))
}

func TestNewsThatIsOwedIsCarriedOverToTheNextWorkflowRun(t *testing.T) {
	s := newStage(t)
	s.at(0, func() { s.SetContinueAsNewSuggested(true) }, func() { s.open() })
	in := s.next(s.play(input(t, run.Live, asksAndWaits)))
	require.Len(t, in.Resume.Run.Outbox, 1)
	require.Empty(t, s.told)

	next := newStage(t)
	next.SetStartTime(epoch.Add(time.Second))
	next.at(time.Minute, func() { next.send(boss, "end", cancel()) })
	require.NoError(t, next.play(in))
	require.Len(t, next.told, 1)
	require.Equal(t, in.Resume.Run.Outbox[0].ID, next.told[0].ID)
}

func TestADeadlineServesInTheNextWorkflowRun(t *testing.T) {
	s := newStage(t)
	longAgo(s, 12*time.Minute)
	in := s.next(s.play(input(t, run.Live, asksAndWaits)))
	next := newStage(t)
	next.SetStartTime(epoch.Add(12 * time.Minute))
	next.at(2*time.Hour, func() { next.send(boss, "end", cancel()) })
	require.NoError(t, next.play(in))
	require.Equal(t, run.StepReady, next.stored[0].Record.Steps[2].State, "the lease has ended")
	require.Equal(t, epoch.Add(time.Minute+time.Hour), next.stored[0].Record.Steps[2].Since)
}

func TestARunContinuesAsNewOnlyOnceItIsStoredAndItsHandlersAreThrough(t *testing.T) {
	s := newStage(t)
	down := true
	s.project = func(workflows.Projection) error { return unless(!down) }
	asked := &answer{}
	s.at(0, func() { s.open() })
	s.at(time.Minute,
		func() { s.UpdateWorkflow(workflows.UpdateProject, "p", asked) },
		func() { s.SetContinueAsNewSuggested(true); s.send(agent, "c", claim("first", time.Hour)) },
	)
	s.at(time.Minute+30*time.Second, func() { s.send(agent, "e", event("late", `{}`)) })
	s.at(time.Minute+50*time.Second, func() {
		require.False(t, s.IsWorkflowCompleted())
		down = false
	})
	in := s.next(s.play(input(t, run.Live, twoSteps)))
	require.True(t, asked.completed)
	require.Equal(t, []string{"start", "c", "e"}, ids(in.Resume.Run.Requests))
	require.Equal(t, []string{"start"}, ids(s.stored[len(s.stored)-1].Requests))
}

func TestWhatIsCarriedOverIsBounded(t *testing.T) {
	s := newStage(t)
	s.at(0, func() { s.SetContinueAsNewSuggested(true) }, func() { s.open() })
	in := s.next(s.play(input(t, run.Live, twoSteps)))
	for i := range 20_000 {
		in.Resume.Run.Requests = append(in.Resume.Run.Requests, run.Request{ID: fmt.Sprint("q", i), Digest: strings.Repeat("0", 64), Stored: epoch})
	}
	in.Resume.Run.Requests = append(in.Resume.Run.Requests, run.Request{ID: "last"})
	next := newStage(t)
	next.SetStartTime(epoch.Add(time.Second))
	next.project = func(workflows.Projection) error { return errDown }
	next.at(0, func() {
		next.project = nil
		next.SetContinueAsNewSuggested(true)
		next.send(boss, "e", event("news", `{}`))
	})
	carried := next.next(next.play(in))
	text, err := json.Marshal(carried)
	require.NoError(t, err)
	require.Less(t, len(text), 1_900_000, "Temporal takes two megabytes")
	require.Greater(t, len(text), 1_899_000)
	requests := carried.Resume.Run.Requests
	require.Equal(t, []string{"q19999", "last", "e"}, ids(requests[len(requests)-3:]), "the newest are kept")
}

func TestACancellationIsNotLostToContinuingAsNew(t *testing.T) {
	s := newStage(t)
	s.at(0, func() { s.open() })
	s.at(time.Minute, func() { s.SetContinueAsNewSuggested(true); s.CancelWorkflow() })
	var cancelled *temporal.CanceledError
	require.ErrorAs(t, s.play(input(t, run.Live, twoSteps)), &cancelled)
	require.Equal(t, run.Cancelled, s.last().Record.State)
}
