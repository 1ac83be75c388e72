package workflows_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

const twoSteps = `steps:
  - { id: first, agent: Do it., next: second }
  - { id: second, agent: Do it too., next: end }
  - { id: end, finish: done }`

func TestAWaitOf400DaysIsMadeOfShorterTimers(t *testing.T) {
	s := newStage(t)
	s.at(0, func() { s.open() })
	require.NoError(t, s.play(input(t, run.Live, "steps:\n  - { id: rest, wait: 400d, next: end }\n  - { id: end, finish: done }")))
	require.Equal(t, epoch.Add(400*day), s.last().Record.Ended.At)
	require.Equal(t, run.Ended, s.last().Record.State)
	require.Equal(t, []time.Duration{100 * day, 100 * day, 100 * day, 100 * day}, s.timers)
}

func TestARunThatNobodyOpensStoresItself(t *testing.T) {
	s := newStage(t)
	s.at(time.Hour, func() {
		require.Len(t, s.stored, 1)
		require.Equal(t, []string{"start"}, ids(s.stored[0].Requests))
		s.send(boss, "end", cancel())
	})
	require.NoError(t, s.play(input(t, run.Live, twoSteps)))
}

func TestARunThatIsOpenedAndChangedByItsCallersStoresNothingItself(t *testing.T) {
	s := newStage(t)
	s.at(0, func() { s.open() })
	s.at(time.Hour, func() { require.Empty(t, s.stored); s.send(boss, "end", cancel()) })
	require.NoError(t, s.play(input(t, run.Live, twoSteps)))
	require.Len(t, s.stored, 1, "only before it closed")
	require.Equal(t, []string{"start", "end"}, ids(s.last().Requests))
}

func TestLeasesThatAreNotLostSetOneTimerForAll(t *testing.T) {
	s := newStage(t)
	s.at(0, func() { s.open() })
	var a *answer
	s.at(time.Minute, func() { a = s.send(agent, "c1", claim("first", 10*time.Minute)) }, func() { s.send(agent, "s1", submit(a)) })
	s.at(2*time.Minute, func() { a = s.send(agent, "c2", claim("second", 10*time.Minute)) }, func() { s.send(agent, "s2", submit(a)) })
	require.NoError(t, s.play(input(t, run.Live, twoSteps)))
	require.Equal(t, []time.Duration{10 * time.Minute}, s.timers)
	require.Zero(t, s.canceled)
}

func TestATimerForLaterIsKeptWhileAnEarlierOneServes(t *testing.T) {
	s := newStage(t)
	s.at(0, func() { s.open() })
	for i := range 4 { // each lease is lost, within the two days
		s.at(time.Duration(i)*time.Hour+time.Minute, func() { s.send(agent, fmt.Sprint("c", i), claim("first", 10*time.Minute)) })
	}
	s.at(3*day, func() { s.send(boss, "end", cancel()) })
	require.NoError(t, s.play(input(t, run.Live, "steps:\n  - { id: first, agent: Do it., due: 2d, next: end }\n  - { id: end, finish: done }")))
	lease := 10 * time.Minute
	require.Equal(t, []time.Duration{2 * day, lease, lease, lease, lease}, s.timers)
	require.Len(t, s.told, 1)
	require.Equal(t, run.NotifyOverdue, s.told[0].Kind)
	require.Equal(t, epoch.Add(2*day), s.told[0].At)
}

func TestALostLeaseIsStoredWhenItEnds(t *testing.T) {
	s := newStage(t)
	s.at(0, func() { s.open() })
	s.at(time.Minute, func() { s.send(agent, "c", claim("first", 10*time.Minute)) })
	s.at(12*time.Minute, func() {
		require.Equal(t, run.StepReady, s.last().Record.Steps[0].State)
		require.Equal(t, epoch.Add(11*time.Minute), s.last().Record.Steps[0].Since)
		require.Equal(t, []string{"start", "c"}, ids(s.last().Requests))
		s.send(boss, "end", cancel())
	})
	require.NoError(t, s.play(input(t, run.Live, twoSteps)))
}

func TestARefusedWriteLeavesNothingBehind(t *testing.T) {
	s := newStage(t)
	s.at(0, func() { s.open() })
	var late, none, first, again, other, refused *answer
	s.at(time.Minute,
		func() {
			c := claim("first", time.Hour)
			c.NotAfter = s.Now().Add(-time.Second)
			late = s.send(agent, "late", c)
		},
		func() { none = s.send(agent, "none", claim("none", time.Hour)) },
		func() { first = s.send(agent, "c", claim("first", time.Hour)) },
		func() { again = s.send(agent, "c", claim("first", time.Hour)) },
		func() {
			c := claim("first", time.Hour)
			c.Digest = "other"
			other = s.send(agent, "c", c)
		},
		func() {
			refused = s.send(agent, "s", run.Command{Submit: &run.SubmitStep{Holder: first.written.Outcome.Claim.Holder}})
		},
		func() { s.send(boss, "end", cancel()) },
	)
	require.NoError(t, s.play(input(t, run.Live, twoSteps)))
	require.Equal(t, run.Retry, refusal(t, late).Code)
	require.Equal(t, run.NotFound, refusal(t, none).Code)
	require.Equal(t, first.written, again.written, "a requestId is executed once")
	require.Equal(t, []string{"request_reused"}, refusal(t, other).Issues)
	require.True(t, refused.accepted && refused.completed, "it changes the handoff")
	require.NoError(t, refused.err)
	require.Equal(t, run.NotAccepted, refused.written.Outcome.Refusal.Code)
	require.Equal(t, refused.written.Outcome.Refusal.Issues, refused.written.Record.Steps[0].Handoff.Issues)
	require.Equal(t, []string{"start", "c", "end"}, ids(s.last().Requests))
}

func TestAStartUnderARequestIdOfAnotherCallIsRefused(t *testing.T) {
	s := newStage(t)
	a := &answer{}
	s.at(0,
		func() {
			s.UpdateWorkflow(workflows.UpdateStart, "u", a, workflows.StartRequest{RequestID: "start", Digest: "11"})
		},
		func() { s.CancelWorkflow() },
	)
	require.Error(t, s.play(input(t, run.Live, twoSteps)))
	require.Equal(t, run.Conflict, refusal(t, a).Code)
}

func TestALeaseThatEndsAtTheMomentOfAWriteHasEnded(t *testing.T) {
	s := newStage(t)
	var a *answer
	s.at(0, func() { s.open() })
	s.at(time.Minute, func() { s.send(agent, "c", claim("first", time.Minute)) })
	s.at(2*time.Minute, func() { a = s.send(run.Actor{ID: "a_2"}, "c2", claim("first", time.Hour)) }, func() { s.send(boss, "end", cancel()) })
	require.NoError(t, s.play(input(t, run.Live, twoSteps)))
	require.NoError(t, a.err)
	require.Equal(t, "a_2", a.written.Record.Steps[0].Claim.By)
}

func TestCancellingTheWorkflowCancelsTheRunByServer(t *testing.T) {
	for name, opened := range map[string]bool{"an opened run": true, "a run nobody has opened yet": false} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.at(time.Second, func() {
				if opened {
					s.open()
				}
				s.CancelWorkflow()
			})
			var cancelled *temporal.CanceledError
			require.ErrorAs(t, s.play(input(t, run.Live, twoSteps)), &cancelled)
			require.Equal(t, run.Cancelled, s.last().Record.State)
			require.Equal(t, run.Server, s.last().Record.Ended.By)
			require.Equal(t, []string{"start"}, ids(s.last().Requests))
		})
	}
}

func TestWhatARunOwesIsDeliveredAlsoAfterACancellation(t *testing.T) {
	s := newStage(t)
	down := true
	s.notify = func(workflows.Delivery) error { return unless(!down) }
	s.at(0, func() { s.open() })
	s.at(time.Minute, func() { s.CancelWorkflow() })
	s.at(70*time.Second, func() { down = false }) // the test suite gives up after 81 seconds
	require.Error(t, s.play(input(t, run.Live, "steps:\n  - { id: ask, person: who, task: Do it., next: end }\n  - { id: end, finish: done }")))
	require.Len(t, s.told, 1)
	require.Equal(t, run.NotifyWork, s.told[0].Kind)
	require.Equal(t, run.Cancelled, s.last().Record.State)
}

func TestNewsThatCannotBeDeliveredIsGivenUpAndTheRunGoesOn(t *testing.T) {
	s := newStage(t)
	s.notify = func(workflows.Delivery) error { return errDown }
	s.at(0, func() { s.open() })
	s.at(time.Minute, func() { s.send(boss, "end", cancel()) })
	require.NoError(t, s.play(input(t, run.Live, "steps:\n  - { id: ask, person: who, task: Do it., next: end }\n  - { id: end, finish: done }")))
	require.Empty(t, s.told)
	require.Equal(t, run.Cancelled, s.last().Record.State)
}

func TestATestRunTellsNobody(t *testing.T) {
	s := newStage(t)
	s.notify = func(workflows.Delivery) error { t.Error("told"); return nil }
	s.at(0, func() { s.open() })
	s.at(time.Minute, func() { s.send(boss, "end", cancel()) })
	require.NoError(t, s.play(input(t, run.Test, "steps:\n  - { id: ask, person: who, task: Do it., next: end }\n  - { id: end, finish: done }")))
}

func TestARunIsStoredHoweverLongPostgresIsDown(t *testing.T) {
	s := newStage(t)
	s.project = func(workflows.Projection) error { return unless(s.Now().After(epoch.Add(7 * time.Hour))) }
	s.at(0, func() { s.open() })
	s.at(time.Minute, func() { s.send(boss, "end", cancel()) })
	require.NoError(t, s.play(input(t, run.Live, twoSteps)))
	require.Equal(t, run.Cancelled, s.last().Record.State)
	require.True(t, s.Now().After(epoch.Add(7*time.Hour)))
}

func TestManyWritesBetweenDeadlinesAreStoredByTheRunSoThatItsMemoryIsBounded(t *testing.T) {
	s := newStage(t)
	s.at(0, func() { s.open() })
	for i := range 250 {
		s.at(time.Minute+time.Duration(i)*time.Millisecond, func() { s.send(agent, fmt.Sprint("e", i), event("news", `{}`)) })
	}
	s.at(time.Minute+time.Second, func() {
		require.Len(t, s.stored, 1)
		require.Len(t, s.stored[0].Requests, 201)
		s.CancelWorkflow()
	})
	require.Error(t, s.play(input(t, run.Live, twoSteps)))
}

func unless(ok bool) error {
	if ok {
		return nil
	}
	return errDown
}

func ids(requests []run.Request) []string {
	var ids []string
	for _, q := range requests {
		ids = append(ids, q.ID)
	}
	return ids
}

// refusal is what a rejected update was refused with.
func refusal(t testing.TB, a *answer) *run.Error {
	t.Helper()
	require.True(t, a.rejected, "the update was not rejected: %v", a.err)
	require.False(t, a.accepted)
	var app *temporal.ApplicationError
	require.ErrorAs(t, a.err, &app)
	var refused run.Error
	require.NoError(t, app.Details(&refused))
	return &refused
}

func TestAPassOfTheReconcilerGoesOnWhereTheLastOneCameTo(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet)
	for name, last := range map[string]workflows.Reconciled{"the first": {}, "the next": {Through: epoch}} {
		t.Run(name, func(t *testing.T) {
			env := suite.NewTestWorkflowEnvironment()
			if !last.Through.IsZero() {
				env.SetLastCompletionResult(last)
			}
			env.RegisterActivityWithOptions(func(_ context.Context, from workflows.Reconciled) (workflows.Reconciled, error) {
				require.Equal(t, last, from)
				return workflows.Reconciled{Through: epoch.Add(time.Minute)}, nil
			}, activity.RegisterOptions{Name: workflows.ActivityReconcile})
			env.ExecuteWorkflow(workflows.Reconcile)
			require.NoError(t, env.GetWorkflowError())
			var next workflows.Reconciled
			require.NoError(t, env.GetWorkflowResult(&next))
			require.Equal(t, epoch.Add(time.Minute), next.Through)
		})
	}
}
