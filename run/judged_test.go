package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

func TestWhatPeopleDecidedIsNotedOnTheVerdict(t *testing.T) {
	front := `
steps:
  - { id: a, agent: A., check: So?, advisory: true }
  - { id: b, agent: B., check: [{ ask: So?, fail: 0 }, { ask: And so?, fail: 0 }] }
  - { id: c, person: finance, approve: Fine?, on_reject: b }
  - { id: d, person: legal, approve: Fine?, on_reject: a }
  - { id: z, finish: ok }`
	w := begin(t, front)
	work := func(step string, p ...float64) {
		var all []run.Answer
		for _, each := range p {
			all = append(all, yes(each))
		}
		w.pass(minute)
		w.judged(ada, submitOf(w.claim(ada, step), run.Submission{}), answered(all...))
	}
	work("a", 0.1)
	work("b", 0.95, 0.96)
	w.decide(finn, "c", run.Rejected, "No.")
	work("b", 0.95, 0.5)
	w.decide(olga, "b", run.Completed, "")
	w.decide(finn, "c", run.Approved, "")
	w.decide(faye, "d", run.Rejected, "From the start.")
	work("a", 0.95)
	work("b", 0.95, 0.5)
	w.decide(olga, "b", run.ReturnedDecision, "No.")
	work("b", 1, 1)
	w.decide(finn, "c", run.Approved, "")
	var got []string
	for _, j := range w.r.Judged {
		got = append(got, fmt.Sprint(j.Step, " ", j.Results, " ", j.Decided))
	}
	require.Equal(t, []string{
		"a [fail] approved", // by c, which rejected into b first: that said nothing of a
		"b [pass pass] rejected",
		"b [pass unsure] completed",
		"a [pass] approved",
		"b [pass unsure] returned",
		"b [pass pass] approved",
	}, got)
}

func TestARunRemembersABoundedNumberOfVerdicts(t *testing.T) {
	w := begin(t, "steps:\n  - { id: a, agent: A., check: So? }\n  - { id: z, finish: ok }")
	g := w.claim(ada, "a")
	for range 60 {
		w.judged(ada, submitOf(g, run.Submission{}), answered(yes(0)))
	}
	require.Len(t, w.r.Judged, 50)
}

func TestARunRemembersABoundedNumberOfResults(t *testing.T) {
	for questions, kept := range map[int]int{200: 5, 300: 3, 900: 1, 1100: 1} {
		w := begin(t, "steps:\n  - { id: a, agent: A., check: ["+strings.TrimSuffix(strings.Repeat("{ ask: So? }, ", questions), ", ")+"] }\n  - { id: z, finish: ok }", limit(1000))
		no := make([]run.Answer, questions)
		for i := range no {
			no[i] = yes(0)
		}
		w.r.Limits.RunDataBytes = 1 << 20 // for what is submitted; a verdict that fails is no run data
		g := w.claim(ada, "a")
		for range 60 {
			w.judged(ada, submitOf(g, run.Submission{}), answered(no...))
		}
		require.Len(t, w.r.Judged, kept, "of %d questions", questions)
	}
}

func TestTheRolesOfAProcessCountForItsShare(t *testing.T) {
	share := func(roles int) int {
		var all strings.Builder
		for i := range 100 {
			fmt.Fprintf(&all, "  - { id: s%d, person: %s%d, approve: Fine? }\n", i, strings.Repeat("é", 60), i%roles)
		}
		p, issues := process.Parse([]byte("---\nname: p\ndescription: d.\nsteps:\n" + all.String() + "  - { id: z, finish: ok }\n---\n"))
		require.Empty(t, issues)
		return run.Share(p)
	}
	require.GreaterOrEqual(t, share(10)-share(1), 9*(len(`"":"",`)+2*60+1+128), "each is bound to a group of up to 128 characters")
}
