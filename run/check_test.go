package run_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

// Answers as an evaluator gives them.
func answered(all ...run.Answer) run.Answers {
	return run.Answers{Model: "model-1", Answers: all}
}
func yes(p float64) run.Answer { return run.Answer{Yes: &p} }
func named(name string, confidence float64) run.Answer {
	return run.Answer{Choice: &name, Confidence: &confidence}
}
func level(n int, confidence float64) run.Answer {
	return run.Answer{Level: &n, Confidence: &confidence}
}

// threeKinds is a step with a question of each kind.
const threeKinds = `
steps:
  - id: screen
    agent: Screen it.
    output: { cleared: boolean }
    next: [ok, bad]
    check:
      - { ask: The verdict matches the report, pass: 0.9, fail: 0.5 }
      - ask: What does the summary do?
        one_of: { states: States it., hedges: Hedges it., unclear: Cannot tell. }
        pass: [states]
        unsure: [unclear]
      - ask: How complete is it?
        levels: [Neither list., One list., Both lists.]
        pass: 2
        confidence: 0.7
  - { id: ok, person: finance, approve: Fine?, on_reject: screen, next: done }
  - { id: bad, finish: declined }
  - { id: done, finish: onboarded }`

func screening3() run.Submission {
	return run.Submission{Output: json.RawMessage(`{"cleared":true}`), Summary: "Searched.", Next: stringP("ok"), Reason: stringP("Clear.")}
}

// check carries out a write whose check is answered like this, while it takes d.
func (w *world) check(actor run.Actor, c run.Command, a run.Answers, d time.Duration) (run.Outcome, *run.Error) {
	c = w.command(actor, c)
	q := w.r.BeginCheck(c, w.now)
	require.NotNil(w.t, q, "there is something to check")
	checkState(w.t, w.r)
	w.pass(d)
	before := w.r.Clone()
	o, err := w.r.ExecuteChecked(c, a, w.now)
	checkState(w.t, w.r)
	checkOrder(w.t, before, w.r)
	checkHistory(w.t, before, w.r)
	return o, err
}

func (w *world) judged(actor run.Actor, c run.Command, a run.Answers) run.Outcome {
	o, err := w.check(actor, c, a, time.Second)
	require.Nil(w.t, err)
	return o
}

func TestTheWorstQuestionIsTheVerdictAndIssuesAreWordedToTheLetter(t *testing.T) {
	for name, c := range map[string]struct {
		answers run.Answers
		verdict run.Result
		issues  []string
	}{
		"all pass":                      {answered(yes(0.9), named("states", 0.8), level(2, 0.7)), run.Passes, nil},
		"a probability below fail":      {answered(yes(0.12), named("states", 0.9), level(2, 1)), run.Fails, []string{"check: The verdict matches the report → no (0.12)"}},
		"another answer than pass":      {answered(yes(1), named("hedges", 0.9), level(2, 1)), run.Fails, []string{"check: What does the summary do? → hedges (0.9)"}},
		"a level below pass":            {answered(yes(1), named("states", 1), level(1, 0.75)), run.Fails, []string{"check: How complete is it? → level 1: One list. (0.75)"}},
		"every failed question":         {answered(yes(0), named("hedges", 1), level(0, 0.9)), run.Fails, []string{"check: The verdict matches the report → no (0)", "check: What does the summary do? → hedges (1)", "check: How complete is it? → level 0: Neither list. (0.9)"}},
		"between fail and pass":         {answered(yes(0.62), named("states", 1), level(2, 1)), run.Unsure, nil},
		"at fail it is unsure":          {answered(yes(0.5), named("states", 1), level(2, 1)), run.Unsure, nil},
		"an unsure name":                {answered(yes(1), named("unclear", 1), level(2, 1)), run.Unsure, nil},
		"a confidence below the limit":  {answered(yes(1), named("hedges", 0.79), level(2, 1)), run.Unsure, nil},
		"a confidence below its own":    {answered(yes(1), named("states", 1), level(2, 0.69)), run.Unsure, nil},
		"unsure outranks fail":          {answered(yes(0.1), named("unclear", 1), level(0, 1)), run.Unsure, nil},
		"no answers":                    {run.Answers{}, run.NotAnswered, nil},
		"too few answers":               {answered(yes(1), named("states", 1)), run.NotAnswered, nil},
		"an answer outside the choices": {answered(yes(1), named("approve", 1), level(2, 1)), run.NotAnswered, nil},
		"a level there is not":          {answered(yes(1), named("states", 1), level(3, 1)), run.NotAnswered, nil},
		"a probability above one":       {answered(yes(1.01), named("states", 1), level(2, 1)), run.NotAnswered, nil},
		"no number":                     {answered(yes(math.NaN()), named("states", 1), level(2, 1)), run.NotAnswered, nil},
		"an answer of another kind":     {answered(named("states", 1), named("states", 1), level(2, 1)), run.NotAnswered, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, threeKinds)
			g := w.claim(ada, "screen")
			data := asJSON(t, w.r.Data)
			o := w.judged(ada, submitOf(g, screening3()), c.answers)
			switch c.verdict {
			case run.Passes:
				require.Nil(t, o.Refusal)
				require.Equal(t, run.Passes, w.r.Data.Steps["screen"].Check.Verdict)
				require.Equal(t, run.StepDone, w.step("screen").State)
			case run.Fails:
				require.Equal(t, run.NotAccepted, o.Refusal.Code)
				require.Equal(t, c.issues, o.Refusal.Issues)
				require.Equal(t, c.issues, w.step("screen").Handoff.Issues)
				require.Equal(t, run.Fails, w.step("screen").Handoff.Check.Verdict)
				require.Equal(t, data, asJSON(t, w.r.Data), "run data does not change")
				require.Equal(t, run.StepClaimed, w.step("screen").State, "the claim stands")
			case run.Unsure:
				require.Nil(t, o.Refusal)
				require.Equal(t, run.StepWaiting, w.step("screen").State)
			default:
				require.Equal(t, run.Retry, o.Refusal.Code)
				require.Equal(t, data, asJSON(t, w.r.Data))
				require.Nil(t, w.step("screen").Handoff)
				require.Empty(t, w.r.Judged)
				require.Len(t, w.r.Requests, 2, "the start and the claim")
			}
		})
	}
}

func TestThresholdsThatAQuestionLeavesOutAreTheLimits(t *testing.T) {
	const short = "steps:\n  - { id: a, agent: A., check: Is it so?, next: z }\n  - { id: z, finish: ok }"
	half := 0.5
	for name, c := range map[string]struct {
		p      float64
		limits run.CheckLimits
		want   run.Result
	}{
		"at 0.9 a yes passes":                  {0.9, run.CheckLimits{}, run.Passes},
		"below it fails, as there is no fail":  {0.8999, run.CheckLimits{}, run.Fails},
		"another limit":                        {0.6, run.CheckLimits{Pass: 0.6, StateBytes: 1000}, run.Passes},
		"between a limit for fail and that":    {0.55, run.CheckLimits{Pass: 0.6, Fail: &half, StateBytes: 1000}, run.Unsure},
		"below the limit for fail":             {0.49, run.CheckLimits{Pass: 0.6, Fail: &half, StateBytes: 1000}, run.Fails},
		"run data that is not shown is no bar": {1, run.CheckLimits{Pass: 0.6, StateBytes: 1}, run.Passes},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, short, func(s *run.Start) { s.Limits.Check = c.limits })
			o := w.judged(ada, submitOf(w.claim(ada, "a"), run.Submission{}), answered(yes(c.p)))
			require.Len(t, w.r.Judged, 1)
			require.Equal(t, c.want, w.r.Judged[0].Verdict, asJSON(t, o))
		})
	}
}

// A question may have a fail above the pass that the server gives it.
func TestWhatIsBelowFailFailsAlsoWhereItWouldPass(t *testing.T) {
	const strict = "steps:\n  - { id: a, agent: A., check: [{ ask: Is it so?, fail: 0.95 }], next: z }\n  - { id: z, finish: ok }"
	for p, want := range map[float64]string{0.96: "", 0.95: "", 0.92: "yes (0.92)", 0.9: "yes (0.9)", 0.89: "no (0.89)"} {
		w := begin(t, strict)
		o := w.judged(ada, submitOf(w.claim(ada, "a"), run.Submission{}), answered(yes(p)))
		if want == "" {
			require.Nil(t, o.Refusal, p)
			continue
		}
		require.NotNil(t, o.Refusal, p)
		require.Equal(t, []string{"check: Is it so? → " + want}, o.Refusal.Issues)
	}
}

func TestAnUnsureSubmissionIsHeldForAnOperator(t *testing.T) {
	unsure := answered(yes(0.62), named("states", 0.91), level(2, 0.8))
	held := func(t *testing.T) *world {
		w := begin(t, threeKinds)
		w.pass(minute)
		o := w.judged(ada, submitOf(w.claim(ada, "screen"), screening3()), unsure)
		require.Nil(t, o.Refusal)
		return w
	}
	t.Run("the work item shows the verdict and the candidate, and run data the verdict", func(t *testing.T) {
		w := held(t)
		item := w.r.View().WorkItems[0]
		require.Equal(t, run.Assignment{Group: run.OperatorGroup}, item.AssignedTo)
		require.Equal(t, []run.Decision{run.ReturnedDecision, run.Completed, run.FailedDecision}, item.Decide.Decisions)
		require.Equal(t, `{"output":{"cleared":true},"summary":"Searched.","next":"ok","reason":"Clear.","by":"a_ada","at":"2026-10-06T09:01:01Z"}`, asJSON(t, item.Escalation.Candidate))
		verdict := `{"verdict":"unsure","advisory":false,"model":"model-1","questions":[` +
			`{"ask":"The verdict matches the report","kind":"yes_no","answer":0.62,"result":"unsure"},` +
			`{"ask":"What does the summary do?","kind":"choice","answer":"states","confidence":0.91,"result":"pass"},` +
			`{"ask":"How complete is it?","kind":"rubric","answer":2,"confidence":0.8,"result":"pass"}],"at":"2026-10-06T09:01:01Z"}`
		require.Equal(t, verdict, asJSON(t, item.Escalation.Check))
		require.Equal(t, `{"check":`+verdict+`,"history":[]}`, asJSON(t, w.r.Data.Steps["screen"]))
		require.Equal(t, run.NotifyEscalated, w.r.Outbox[0].Kind)
	})
	t.Run("completed without an output completes with the candidate, unchecked", func(t *testing.T) {
		w := held(t)
		w.decide(olga, "screen", run.Completed, "")
		c := w.r.Data.Steps["screen"].Completion
		require.Equal(t, `{"cleared":true}`, string(c.Output))
		require.Equal(t, "Searched. ok Clear. olga@example.com unsure", strings.Join([]string{c.Summary, c.Next, c.Reason, c.By, string(c.Check.Verdict)}, " "))
		require.Equal(t, run.StepWaiting, w.step("ok").State)
		require.Equal(t, run.JudgedCompleted, w.r.Judged[0].Decided)
	})
	t.Run("completed with another route keeps the rest of the candidate", func(t *testing.T) {
		w := held(t)
		c := w.decideOf("screen", run.Completed, "")
		c.Decide.Submission.Next = stringP("bad")
		require.Equal(t, []string{"reason: required"}, w.refused(run.NotAccepted, olga, c))
		c.Decide.Submission.Reason = stringP("Hit.")
		w.must(olga, c)
		require.Equal(t, "declined", *w.r.Outcome)
	})
	t.Run("completed with their own output is their own", func(t *testing.T) {
		w := held(t)
		c := w.decideOf("screen", run.Completed, "")
		c.Decide.Submission = run.Submission{Output: json.RawMessage(`{"cleared":false}`)}
		require.Equal(t, []string{"next: required, one of ok, bad", "reason: required"}, w.refused(run.NotAccepted, olga, c))
		c.Decide.Submission.Next, c.Decide.Submission.Reason = stringP("ok"), stringP("Mine.")
		w.must(olga, c)
		got := w.r.Data.Steps["screen"].Completion
		require.Equal(t, `{"cleared":false}`, string(got.Output))
		require.Empty(t, got.Summary)
		require.Equal(t, run.JudgedReplaced, w.r.Judged[0].Decided)
	})
	t.Run("returned goes back with the note, the verdict and its lines", func(t *testing.T) {
		w := held(t)
		w.decide(olga, "screen", run.ReturnedDecision, "Cite the report.")
		h := w.step("screen").Handoff
		require.Equal(t, "Cite the report.", h.Returned.Note)
		require.Equal(t, run.Unsure, h.Check.Verdict)
		require.Equal(t, []string{"check: The verdict matches the report → no (0.62)"}, h.Issues)
		require.Empty(t, w.r.Data.Steps, "the verdict waits no longer")
		require.Equal(t, run.StepReady, w.step("screen").State)
		require.Equal(t, run.JudgedReturned, w.r.Judged[0].Decided)
	})
	t.Run("failed ends the run and keeps the verdict", func(t *testing.T) {
		w := held(t)
		w.decide(olga, "screen", run.FailedDecision, "Hopeless.")
		require.Equal(t, run.Unsure, w.r.Data.Steps["screen"].Check.Verdict)
		require.Equal(t, "failed", *w.r.Outcome)
	})
	t.Run("after the step completed before, the new verdict stands beside its history", func(t *testing.T) {
		w := held(t)
		w.decide(olga, "screen", run.Completed, "")
		w.decide(finn, "ok", run.Rejected, "Again.")
		require.Nil(t, w.step("screen").Handoff, "rework is a fresh attempt")
		require.Equal(t, run.Unsure, w.r.Data.Steps["screen"].History[0].Check.Verdict)
		w.judged(ada, submitOf(w.claim(ada, "screen"), screening3()), unsure)
		d := w.r.Data.Steps["screen"]
		require.Equal(t, run.Unsure, d.Check.Verdict)
		require.Empty(t, d.By)
		require.Len(t, d.History, 1)
		w.decide(olga, "screen", run.ReturnedDecision, "No.")
		require.Nil(t, w.r.Data.Steps["screen"].Completion)
		require.Len(t, w.r.Data.Steps["screen"].History, 1)
	})
}

const checkedTask = `
steps:
  - { id: sign, person: finance, task: Sign it., output: { ok: boolean }, check: Is it signed?, next: z }
  - { id: z, finish: ok }`

func signed(w *world) run.Command {
	c := w.decideOf("sign", run.Completed, "")
	c.Decide.Submission.Output = json.RawMessage(`{"ok":true}`)
	return c
}

func TestAPersonsTaskIsChecked(t *testing.T) {
	t.Run("a fail is the same refusal, and the task stays theirs", func(t *testing.T) {
		w := begin(t, checkedTask)
		o := w.judged(finn, signed(w), answered(yes(0.3)))
		require.Equal(t, []string{"check: Is it signed? → no (0.3)"}, o.Refusal.Issues)
		require.Equal(t, run.Fails, w.r.View().WorkItems[0].Handoff.Check.Verdict)
		o = w.judged(finn, signed(w), answered(yes(0.95)))
		require.Nil(t, o.Refusal)
		require.Equal(t, "ok", *w.r.Outcome)
	})
	t.Run("unsure goes to the operators, and returned back to the assignee", func(t *testing.T) {
		w := begin(t, strings.Replace(checkedTask, "check: Is it signed?", "check: [{ ask: Is it signed?, fail: 0.2 }]", 1))
		first := signed(w)
		require.Nil(t, w.judged(finn, first, answered(yes(0.3))).Refusal)
		require.Equal(t, []string{"already_decided"}, w.refused(run.Conflict, faye, first))
		require.Equal(t, run.Assignment{Group: run.OperatorGroup}, w.item("sign").AssignedTo)
		w.refused(run.Forbidden, finn, w.decideOf("sign", run.Completed, ""))
		w.decide(olga, "sign", run.ReturnedDecision, "Sign page 2.")
		require.Equal(t, run.Assignment{Group: "g_finance"}, w.item("sign").AssignedTo)
		require.Equal(t, "Sign page 2.", w.r.View().WorkItems[0].Handoff.Returned.Note)
		w.judged(finn, signed(w), answered(yes(0.3)))
		w.decide(olga, "sign", run.Completed, "")
		require.Equal(t, "olga@example.com", w.r.Data.Steps["sign"].By)
	})
	t.Run("an unanswered one changes nothing", func(t *testing.T) {
		w := begin(t, checkedTask)
		before := asJSON(t, w.r.Data)
		require.Equal(t, run.Retry, w.judged(finn, signed(w), run.Answers{}).Refusal.Code)
		require.Equal(t, before, asJSON(t, w.r.Data))
		require.Equal(t, "w_1", w.item("sign").ID)
	})
}

func TestAdvisoryVerdictsAreRecordedAndNeverBlock(t *testing.T) {
	for verdict, a := range map[run.Result]run.Answers{
		run.Passes: answered(yes(1)), run.Fails: answered(yes(0)), run.Unsure: answered(yes(0.6)), run.NotAnswered: {},
	} {
		w := begin(t, "steps:\n  - { id: a, agent: A., check: [{ ask: So?, fail: 0.5 }], advisory: true, next: z }\n  - { id: z, finish: ok }")
		require.Nil(t, w.judged(ada, submitOf(w.claim(ada, "a"), run.Submission{}), a).Refusal)
		v := w.r.Data.Steps["a"].Check
		require.Equal(t, verdict, v.Verdict)
		require.True(t, v.Advisory)
		require.Len(t, v.Questions, 1)
		require.Equal(t, "ok", *w.r.Outcome)
	}
}
