package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

func TestAClaimIsHeldWhileItsOwnCheckRuns(t *testing.T) {
	w := begin(t, threeKinds)
	g := w.claim(ada, "screen")
	w.pass(lease - time.Second)
	c := w.command(ada, submitOf(g, screening3()))
	q := w.r.BeginCheck(c, w.now)
	require.Equal(t, g.ExpiresAt, q.LeaseEnds)
	w.pass(hour)
	require.Equal(t, run.StepClaimed, w.step("screen").State, "its lease does not end")
	require.Equal(t, []string{"claimed_by_other"}, w.refused(run.Conflict, bob, claimOf("screen")))
	w.refused(run.Retry, ada, renewOf(g, "x"))
	w.refused(run.Retry, ada, escalateOf(g, "x"))
	w.refused(run.Retry, ada, submitOf(g, screening3()))

	o, err := w.r.ExecuteChecked(c, run.Answers{}, w.now)
	require.Nil(t, err)
	require.Equal(t, run.Retry, o.Refusal.Code)
	require.Equal(t, w.now.Add(time.Second), w.step("screen").Claim.ExpiresAt, "what was left of the lease is left")
	require.NotNil(t, w.r.BeginCheck(w.command(ada, submitOf(g, screening3())), w.now), "it can be sent again")
}

func TestAfterACheckTheRunDecidesOnTheStateOfThatMoment(t *testing.T) {
	pass := answered(yes(1), named("states", 1), level(2, 1))
	t.Run("the run was cancelled meanwhile", func(t *testing.T) {
		w := begin(t, threeKinds)
		c := w.command(ada, submitOf(w.claim(ada, "screen"), screening3()))
		require.NotNil(t, w.r.BeginCheck(c, w.now))
		w.must(olga, cancelOf("Stop."))
		_, err := w.r.ExecuteChecked(c, pass, w.now)
		require.Equal(t, []string{"run_ended"}, err.Issues)
	})
	t.Run("another member decided meanwhile", func(t *testing.T) {
		w := begin(t, checkedTask)
		c := w.command(finn, signed(w))
		require.NotNil(t, w.r.BeginCheck(c, w.now))
		require.Nil(t, w.judged(faye, signed(w), answered(yes(0.95))).Refusal)
		_, err := w.r.ExecuteChecked(c, answered(yes(0.95)), w.now)
		require.Equal(t, run.Conflict, err.Code)
	})
	t.Run("a sibling completed meanwhile, so the snapshot is stale", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: fork, parallel: [sign, b], next: z }
  - { id: sign, person: finance, task: Sign it., output: { ok: boolean }, check: Is it signed?, next: join }
  - { id: b, agent: B., next: join }
  - { id: z, finish: ok }`)
		c := w.command(finn, signed(w))
		require.NotNil(t, w.r.BeginCheck(c, w.now))
		w.work(ada, "b", run.Submission{})
		_, err := w.r.ExecuteChecked(c, answered(yes(1)), w.now)
		require.Equal(t, run.Stale, err.Code)
	})
	t.Run("the same request was carried out meanwhile, and has its outcome", func(t *testing.T) {
		w := begin(t, checkedTask)
		c := w.command(finn, signed(w))
		require.NotNil(t, w.r.BeginCheck(c, w.now))
		require.NotNil(t, w.r.BeginCheck(c, w.now))
		_, err := w.r.ExecuteChecked(c, answered(yes(1)), w.now)
		require.Nil(t, err)
		seq := w.r.Seq
		o, err := w.r.ExecuteChecked(c, run.Answers{}, w.now)
		require.Nil(t, err)
		require.Nil(t, o.Refusal)
		require.Equal(t, seq, w.r.Seq)
		require.Nil(t, w.r.BeginCheck(c, w.now), "a replay is not checked")
	})
	t.Run("that it was begun in time is enough", func(t *testing.T) {
		w := begin(t, threeKinds)
		o, err := w.check(ada, submitOf(w.claim(ada, "screen"), screening3()), pass, 5*minute)
		require.Nil(t, err)
		require.Nil(t, o.Refusal)
	})
}

func TestWhatIsNotToBeCheckedIsNot(t *testing.T) {
	w := begin(t, threeKinds)
	g := w.claim(ada, "screen")
	broken := w.command(ada, submitOf(g, run.Submission{}))
	require.Nil(t, w.r.BeginCheck(broken, w.now), "the objective rules come first")
	require.False(t, w.r.NeedsCheck(broken, w.now))
	require.Nil(t, w.r.BeginCheck(w.command(bob, submitOf(g, screening3())), w.now), "what is refused is not checked")
	require.Nil(t, w.r.BeginCheck(w.command(ada, renewOf(g, "x")), w.now))
	require.True(t, w.r.NeedsCheck(w.command(ada, submitOf(g, screening3())), w.now))
	w.must(ada, escalateOf(g, "Help."))
	c := w.decideOf("screen", run.Completed, "")
	c.Decide.Submission = screening3()
	require.Nil(t, w.r.BeginCheck(w.command(olga, c), w.now), "a person completing an escalated step is not checked")
	w.must(olga, c)
	require.Nil(t, w.r.Data.Steps["screen"].Check)
}

func TestACheckedWriteCarriedOutWithoutAnswersIsNotAccepted(t *testing.T) {
	w := begin(t, threeKinds)
	g := w.claim(ada, "screen")
	o, err := w.r.Execute(w.command(ada, submitOf(g, screening3())), w.now)
	require.Nil(t, err)
	require.Equal(t, run.Retry, o.Refusal.Code)
	require.Equal(t, run.StepClaimed, w.step("screen").State)
}

func TestAHeldSubmissionCountsTowardsTheCap(t *testing.T) {
	w := begin(t, threeKinds, limit(3000))
	sub := screening3()
	sub.Summary = strings.Repeat("x", 1000)
	empty := w.r.Size()
	w.judged(ada, submitOf(w.claim(ada, "screen"), sub), answered(yes(0.6), named("states", 1), level(2, 1)))
	require.Greater(t, w.r.Size(), empty+1000)
	require.LessOrEqual(t, w.r.Size(), 3000, "room was kept for the verdicts")
	issues := w.refused(run.Invalid, ada, eventOf("e", fmt.Sprintf(`{"x":%q}`, strings.Repeat("x", 1500))))
	require.Contains(t, issues[0], "the limit is 3000")
	w.decide(olga, "screen", run.Completed, "")
	require.LessOrEqual(t, w.r.Size(), 3000)
}

func TestTheEvaluatorSeesNoMoreThanTheProfileLists(t *testing.T) {
	w := begin(t, threeKinds, inputs(`{}`))
	sub := screening3()
	sub.Evidence = []run.Evidence{{Kind: process.Link, Ref: "https://example.com/r"}}
	q := w.r.BeginCheck(w.command(ada, submitOf(w.claim(ada, "screen"), sub)), w.now)
	require.Equal(t, `{"org":"o","runId":"r_1","process":"p","version":3,"stepId":"screen","data":{"inputs":{},"steps":{}},`+
		`"output":{"cleared":true},"summary":"Searched.","evidence":[{"kind":"link","ref":"https://example.com/r"}]}`, asJSON(t, q))
}

func TestRunDataIsCutOffOldestStepFirst(t *testing.T) {
	front := "inputs: { note: { type: string, optional: true } }\nsteps:\n"
	for i := range 4 {
		front += fmt.Sprintf("  - { id: s%d, agent: A., output: { t: string } }\n", i)
	}
	front += "  - { id: last, agent: A., check: So? }\n  - { id: z, finish: ok }"
	shown := func(bytes int, in string) (string, bool, *world) {
		w := begin(t, front, inputs(in), func(s *run.Start) {
			s.Limits.Check = run.CheckLimits{Pass: 0.9, Confidence: 0.8, StateBytes: bytes}
		})
		for i := range 4 {
			w.pass(minute)
			w.work(ada, fmt.Sprintf("s%d", i), run.Submission{Output: json.RawMessage(fmt.Sprintf(`{"t":%q}`, strings.Repeat("x", 400)))})
		}
		c := w.command(ada, submitOf(w.claim(ada, "last"), run.Submission{}))
		q := w.r.BeginCheck(c, w.now)
		require.LessOrEqual(t, len(q.Data), bytes)
		require.True(t, json.Valid(q.Data))
		var d run.Data
		require.NoError(t, json.Unmarshal(q.Data, &d))
		left := string(d.Inputs)
		for i := range 4 {
			if d.Steps[fmt.Sprintf("s%d", i)] != nil {
				left += fmt.Sprint(" ", i)
			}
		}
		a := answered(yes(1))
		a.Truncated = q.Truncated
		_, err := w.r.ExecuteChecked(c, a, w.now)
		require.Nil(t, err)
		return left, q.Truncated, w
	}
	left, truncated, w := shown(64<<10, `{"note":"n"}`)
	require.Equal(t, `{"note":"n"} 0 1 2 3`, left)
	require.False(t, truncated)
	require.NotContains(t, w.current("last"), "truncated")
	left, truncated, w = shown(1300, `{"note":"n"}`)
	require.Equal(t, `{"note":"n"} 2 3`, left)
	require.True(t, truncated)
	require.Contains(t, w.current("last"), `"truncated":true`, "it is recorded on the verdict")
	left, _, _ = shown(700, fmt.Sprintf(`{"note":%q}`, strings.Repeat("n", 800)))
	require.Equal(t, `{} 3`, left, "inputs that do not fit are left out")
}
