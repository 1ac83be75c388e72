package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/agentprocess-temporal/server/run"
)

const checkedStep = `steps:
  - { id: first, agent: Do it., check: [{ ask: Is it done?, fail: 0.5 }], next: end }
  - { id: end, finish: done }`

func likely(p float64) func(run.CheckRequest) (run.Answers, error) {
	return func(run.CheckRequest) (run.Answers, error) {
		return run.Answers{Model: "m", Answers: []run.Answer{{Yes: &p}}}, nil
	}
}

// checked plays a run of one step, claimed and submitted after a minute.
func checked(t *testing.T, evaluate func(run.CheckRequest) (run.Answers, error)) (*stage, *answer) {
	s := newStage(t)
	s.evaluate = evaluate
	var claimed, submitted *answer
	s.at(0, func() { s.open() })
	s.at(time.Minute,
		func() { claimed = s.send(agent, "c", claim("first", 10*time.Minute)) },
		func() { submitted = s.send(agent, "s", submit(claimed)) },
	)
	s.at(2*time.Hour, func() { s.send(boss, "end", cancel()) })
	require.NoError(t, s.play(input(t, run.Live, checkedStep)))
	return s, submitted
}

func TestAWriteWaitsForItsCheck(t *testing.T) {
	s, a := checked(t, likely(0.95))
	require.NoError(t, a.err)
	require.Equal(t, run.Ended, a.written.Record.State)
	require.Equal(t, run.Passes, a.written.Record.Data.Steps["first"].Check.Verdict)
	require.Equal(t, 1, s.checks)
}

func TestAFailIsAnAnswerAndNotAnError(t *testing.T) {
	_, a := checked(t, likely(0.1))
	require.NoError(t, a.err)
	require.Equal(t, []string{"check: Is it done? → no (0.1)"}, a.written.Outcome.Refusal.Issues)
	require.Equal(t, run.StepClaimed, a.written.Record.Steps[0].State)
}

func TestACheckIsTriedTwiceAndThenTheCallerIs(t *testing.T) {
	s, a := checked(t, nil)
	require.NoError(t, a.err)
	require.Equal(t, run.Retry, a.written.Outcome.Refusal.Code)
	require.Equal(t, 2, s.checks)
	for _, p := range s.stored {
		require.NotContains(t, ids(p.Requests), "s", "nothing is remembered of it")
	}
	require.Nil(t, s.last().Record.Data.Steps["first"])
}

func TestTheServerTriesACheckAgainAfterOneThatFailed(t *testing.T) {
	n := 0
	s, a := checked(t, func(q run.CheckRequest) (run.Answers, error) {
		if n++; n == 1 {
			return run.Answers{}, errDown
		}
		return likely(1)(q)
	})
	require.Equal(t, run.Ended, a.written.Record.State)
	require.Equal(t, 2, s.checks)
}

func TestAnEvaluatorThatCannotEverAnswerIsAskedOnce(t *testing.T) {
	s, a := checked(t, func(run.CheckRequest) (run.Answers, error) {
		return run.Answers{}, temporal.NewNonRetryableApplicationError("no key", "x", nil)
	})
	require.Equal(t, run.Retry, a.written.Outcome.Refusal.Code)
	require.Equal(t, 1, s.checks)
}

func TestALeaseThatWouldEndDuringItsCheckIsStoredAsHeld(t *testing.T) {
	s := newStage(t)
	s.evaluate = likely(0.95)
	var claimed *answer
	s.at(0, func() { s.open() })
	s.at(time.Minute,
		func() { claimed = s.send(agent, "c", claim("first", 5*time.Second)) },
		func() { s.send(agent, "s", submit(claimed)) },
	)
	require.NoError(t, s.play(input(t, run.Live, checkedStep)))
	require.False(t, s.stored[0].Record.Steps[0].Claim.Checking.IsZero())
}

func TestOnceARunIsDueToContinueAsNewNewChecksGetRetry(t *testing.T) {
	s := newStage(t)
	s.evaluate = likely(0.95)
	var claimed, submitted, refused, replayed *answer
	s.at(0, func() { s.open() })
	s.at(time.Minute,
		func() { claimed = s.send(agent, "c", claim("first", time.Hour)) },
		func() {
			s.SetContinueAsNewSuggested(true)
			submitted = s.send(agent, "s", submit(claimed))
			bad := submit(claimed)
			bad.Submit.Submission.Summary = ""
			refused = s.send(agent, "bad", bad)
			replayed = s.send(agent, "c", claim("first", time.Hour))
		},
	)
	in := s.next(s.play(input(t, run.Live, checkedStep)))
	require.Equal(t, run.Retry, refusal(t, submitted).Code)
	require.Equal(t, run.NotAccepted, refused.written.Outcome.Refusal.Code, "the objective rules need no check")
	require.NoError(t, replayed.err)
	require.Zero(t, s.checks)

	next := newStage(t)
	next.SetStartTime(epoch.Add(2 * time.Minute))
	next.evaluate = likely(0.95)
	next.at(time.Second, func() { submitted = next.send(agent, "s", submit(claimed)) })
	require.NoError(t, next.play(in))
	require.Equal(t, run.Ended, submitted.written.Record.State, "and goes through in the next history")
}

func TestARunWaitsForACheckBeforeItContinuesAsNew(t *testing.T) {
	s := newStage(t)
	s.evaluate = func(q run.CheckRequest) (run.Answers, error) {
		s.SetContinueAsNewSuggested(true)
		return likely(0.6)(q)
	}
	var claimed, submitted *answer
	s.at(0, func() { s.open() })
	s.at(time.Minute,
		func() { claimed = s.send(agent, "c", claim("first", time.Hour)) },
		func() { submitted = s.send(agent, "s", submit(claimed)) },
	)
	in := s.next(s.play(input(t, run.Live, checkedStep)))
	require.NoError(t, submitted.err)
	require.Equal(t, run.Unsure, in.Resume.Run.Steps[0].Item.Escalation.Check.Verdict, "the held submission is carried over")
	require.NotNil(t, in.Resume.Run.Steps[0].Item.Escalation.Candidate)
}
