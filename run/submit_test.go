package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

const screening = `
inputs: { vendor: { type: string, optional: true } }
steps:
  - id: screen
    agent: Screen it.
    output:
      cleared: boolean
      summary: string
      grade: { type: string, one_of: [low, high], optional: true }
      tags: { type: list, items: { type: string, one_of: [a, b] }, optional: true }
      reviewer: { type: person, optional: true }
    evidence: [file]
    next: [{ to: good, when: Cleared }, bad]
  - { id: good, finish: onboarded }
  - { id: bad, finish: declined }`

// screened is a submission that is accepted.
func screened() run.Submission {
	return run.Submission{
		Output:   json.RawMessage(`{"cleared":true,"summary":"No hits."}`),
		Evidence: []run.Evidence{{Kind: process.File, Ref: "f_1"}},
		Files:    map[string]run.File{"f_1": {SHA256: hash, Intact: true}},
		Summary:  "Searched.",
		Next:     stringP("good"), Reason: stringP("Clear."),
	}
}

func TestASubmissionIsAcceptedOnlyWhenItKeepsEveryRule(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*run.Submission)
		issues []string
	}{
		"a summary is required from agents (spec §3.3)":        {func(s *run.Submission) { s.Summary = " \n" }, []string{"summary: missing"}},
		"every required field is present (spec §6 rule 3)":     {func(s *run.Submission) { s.Output = json.RawMessage(`{"cleared":true}`) }, []string{"output.summary: missing"}},
		"no output at all misses every field (spec §6 rule 3)": {func(s *run.Submission) { s.Output = nil }, []string{"output.cleared: missing", "output.summary: missing"}},
		"null is not a value (spec §2.3)":                      {func(s *run.Submission) { s.Output = json.RawMessage(`{"cleared":true,"summary":"x","grade":null}`) }, []string{"output.grade: expected string"}},
		"every field has its type (spec §2.3)":                 {func(s *run.Submission) { s.Output = json.RawMessage(`{"cleared":"yes","summary":"x"}`) }, []string{"output.cleared: expected boolean"}},
		"a value lies within one_of (spec §2.3)":               {func(s *run.Submission) { s.Output = json.RawMessage(`{"cleared":true,"summary":"x","grade":"mid"}`) }, []string{"output.grade: expected one of low, high"}},
		"one_of holds inside lists (spec §6 rule 3)":           {func(s *run.Submission) { s.Output = json.RawMessage(`{"cleared":true,"summary":"x","tags":["a","c"]}`) }, []string{"output.tags[1]: expected one of a, b"}},
		"no undeclared field is present (spec §6 rule 3)":      {func(s *run.Submission) { s.Output = json.RawMessage(`{"cleared":true,"summary":"x","extra":1}`) }, []string{"output.extra: not declared"}},
		"a person is one that the server resolves (spec §2.3)": {func(s *run.Submission) {
			s.Output = json.RawMessage(`{"cleared":true,"summary":"x","reviewer":"no@example.com"}`)
			s.UnknownPersons = []string{"no@example.com"}
		}, []string{"output.reviewer: no such person"}},
		"an output is an object":                                          {func(s *run.Submission) { s.Output = json.RawMessage(` [1]`) }, []string{"output: expected object"}},
		"an output that is null is no object":                             {func(s *run.Submission) { s.Output = json.RawMessage(`null`) }, []string{"output: expected object"}},
		"an output that is not JSON is refused":                           {func(s *run.Submission) { s.Output = json.RawMessage(`{"a`) }, []string{"output: not valid JSON: it ends where a closing quote should be"}},
		"an output with a key given twice has no one meaning":             {func(s *run.Submission) { s.Output = json.RawMessage(`{"cleared":true,"summary":"x","summary":"y"}`) }, []string{"output.summary: given more than once"}},
		"an output with half a character has no canonical form":           {func(s *run.Submission) { s.Output = json.RawMessage(`{"cleared":true,"summary":"\ud800"}`) }, []string{"output.summary: holds half of a surrogate pair"}},
		"every listed kind of evidence is attached (spec §5)":             {func(s *run.Submission) { s.Evidence = nil }, []string{"evidence: file required"}},
		"a link never stands in for a file (spec §5)":                     {func(s *run.Submission) { s.Evidence[0].Kind = process.Link }, []string{"evidence: file required"}},
		"a file exists in the organization (spec §5)":                     {func(s *run.Submission) { s.Files = nil }, []string{"evidence f_1: not found"}},
		"a file that is named twice is missing once":                      {func(s *run.Submission) { s.Files = nil; s.Evidence = append(s.Evidence, s.Evidence[0]) }, []string{"evidence f_1: not found"}},
		"a file still matches the hash recorded at upload (spec §5)":      {func(s *run.Submission) { s.Files["f_1"] = run.File{SHA256: hash} }, []string{"evidence f_1: the stored bytes no longer match the hash recorded at upload"}},
		"a route is chosen where next is a list (spec §3.2)":              {func(s *run.Submission) { s.Next, s.Reason = nil, nil }, []string{"next: required, one of good, bad", "reason: required"}},
		"the route is one of those listed (spec §6 rule 3)":               {func(s *run.Submission) { s.Next = stringP("screen") }, []string{"next: expected one of good, bad"}},
		"the reason is not blank (spec §3.2)":                             {func(s *run.Submission) { s.Reason = stringP(" ") }, []string{"reason: required"}},
		"the caller gets every issue at once (spec §6 rule 3)":            {func(s *run.Submission) { *s = run.Submission{Output: json.RawMessage(`{"x":1}`)} }, []string{"summary: missing", "output.cleared: missing", "output.summary: missing", "output.x: not declared", "evidence: file required", "next: required, one of good, bad", "reason: required"}},
		"what was found too large before comes with its issues unchanged": {func(s *run.Submission) { *s = run.Submission{Refused: []string{"run data: too big"}} }, []string{"run data: too big"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, screening)
			g := w.claim(ada, "screen")
			sub := screened()
			c.change(&sub)
			command := run.Command{Submit: &run.SubmitStep{Holder: g.Holder, Submission: sub}}
			require.Equal(t, c.issues, w.refused(run.NotAccepted, ada, command))
			require.Equal(t, "claimed - -", w.states(), "the claim stands (tools submit)")
			require.Equal(t, c.issues, w.step("screen").Handoff.Issues)
			w.must(ada, submitOf(g, screened()))
		})
	}
}

func TestSubmit(t *testing.T) {
	t.Run("a completed agent step records what it was completed with (spec §3.1)", func(t *testing.T) {
		w := begin(t, screening)
		sub := screened()
		sub.Evidence = append(sub.Evidence, run.Evidence{Kind: process.Link, Ref: "DOC-7", SHA256: "forged", URL: "https://forged"})
		w.work(ada, "screen", sub)
		require.JSONEq(t, `{"output":{"cleared":true,"summary":"No hits."},
			"evidence":[{"kind":"file","ref":"f_1","sha256":"`+hash+`"},{"kind":"link","ref":"DOC-7"}],
			"summary":"Searched.","next":"good","reason":"Clear.","by":"a_ada","at":"2026-10-06T09:00:00Z"}`, w.current("screen"))
		require.Equal(t, "done done -", w.states())
		require.Equal(t, "onboarded", *w.r.Outcome)
	})
	t.Run("numbers are never rounded (spec §2.3)", func(t *testing.T) {
		w := begin(t, `
steps:
  - { id: count, agent: A., output: { n: number } }
  - { id: done, finish: ok }`)
		w.work(ada, "count", run.Submission{Output: json.RawMessage(`{"n":12345678901234567890.123456789}`)})
		require.Contains(t, w.current("count"), `12345678901234567890.123456789`)
	})
	t.Run("next and reason on a step without a list are not_accepted (spec §3.2)", func(t *testing.T) {
		w := begin(t, oneAgent)
		g := w.claim(ada, "screen")
		require.Len(t, w.refused(run.NotAccepted, ada, submitOf(g, run.Submission{Next: stringP("done"), Reason: stringP("x")})), 2)
	})
	t.Run("a step without output takes none and records an empty one", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.work(ada, "screen", run.Submission{})
		require.Contains(t, w.current("screen"), `"output":{}`)
		w = begin(t, oneAgent)
		g := w.claim(ada, "screen")
		w.refused(run.NotAccepted, ada, submitOf(g, run.Submission{Output: json.RawMessage(`{"x":1}`)}))
	})
	t.Run("a submission that is not accepted is not recorded, so it can be sent again (spec §4)", func(t *testing.T) {
		w := begin(t, oneAgent)
		g := w.claim(ada, "screen")
		bad := w.command(ada, submitOf(g, run.Submission{Next: stringP("x")}))
		for range 2 {
			o, err := carry(t, w.r, bad, w.now)
			require.Nil(t, err)
			require.NotNil(t, o.Refusal)
		}
	})
	t.Run("a submission that is not accepted is no update of the run (tools submit)", func(t *testing.T) {
		w := begin(t, oneAgent)
		g := w.claim(ada, "screen")
		w.pass(minute)
		w.refused(run.NotAccepted, ada, submitOf(g, run.Submission{Next: stringP("x")}))
		require.Equal(t, epoch, w.r.UpdatedAt)
	})
	t.Run("a handoff keeps a bounded number of issues, the caller gets all", func(t *testing.T) {
		w := begin(t, oneAgent)
		g := w.claim(ada, "screen")
		fields := make([]string, 200)
		for i := range fields {
			fields[i] = fmt.Sprintf(`"f%03d":1`, i)
		}
		sub := run.Submission{Output: json.RawMessage("{" + strings.Join(fields, ",") + "}")}
		require.Len(t, w.refused(run.NotAccepted, ada, submitOf(g, sub)), 200)
		kept := w.step("screen").Handoff.Issues
		require.Len(t, kept, 51)
		require.Equal(t, "and 150 more", kept[50])
	})
}

func TestTheRunDataCap(t *testing.T) {
	const note = `
inputs: { text: { type: string, optional: true } }
steps:
  - { id: a, agent: A., output: { text: string } }
  - { id: b, agent: B. }
  - { id: done, finish: ok }`
	text := func(n int) json.RawMessage { return json.RawMessage(`{"text":"` + strings.Repeat("x", n) + `"}`) }
	t.Run("inputs over the cap are invalid, up to the cap they are not (spec §6 rule 3)", func(t *testing.T) {
		p := parse(t, note)
		require.Nil(t, run.CheckStart(p, text(1000-34), mira, run.Limits{RunDataBytes: 1000}, nil))
		err := run.CheckStart(p, text(1000-32), mira, run.Limits{RunDataBytes: 1000}, nil)
		require.Equal(t, run.Invalid, err.Code)
		require.Equal(t, []string{"run data: would be 1001 bytes, the limit is 1000"}, err.Issues)
	})
	t.Run("a submission that would take run data over the cap is not accepted, whatever fits is (spec §6 rule 3)", func(t *testing.T) {
		accepted := 0
		for n := 500; n < 1000; n++ {
			w := begin(t, note, limit(1000))
			g := w.claim(ada, "a")
			o, err := w.do(ada, submitOf(g, run.Submission{Output: text(n)}))
			require.Nil(t, err)
			if o.Refusal == nil {
				accepted++
				require.LessOrEqual(t, len(asJSON(t, w.r.Data)), 1000)
				continue
			}
			require.Contains(t, o.Refusal.Issues[0], "run data: would be ")
			require.Equal(t, "{\"inputs\":{},\"steps\":{}}", asJSON(t, w.r.Data))
		}
		require.Greater(t, accepted, 250, "the cap is not far below what it says")
		require.Less(t, accepted, 499)
	})
	t.Run("what the step's own handoff takes is free again once it completes", func(t *testing.T) {
		w := begin(t, note, limit(1000))
		g := w.claim(ada, "a")
		w.refused(run.NotAccepted, ada, submitOf(g, run.Submission{Output: json.RawMessage(`{"` + strings.Repeat("x", 400) + `":1}`)}))
		require.Greater(t, len(w.handoff("a")), 400)
		w.must(ada, submitOf(g, run.Submission{Output: text(700)}))
	})
	t.Run("an event over the cap is invalid (spec §6 rule 3)", func(t *testing.T) {
		w := begin(t, note, limit(1000))
		w.refused(run.Invalid, ada, eventOf("e", string(text(1000))))
		w.must(ada, eventOf("e", string(text(400))))
		w.refused(run.Invalid, ada, eventOf("e", string(text(500))))
		require.Len(t, w.r.Held, 1)
	})
	t.Run("held events count towards the cap of a submission", func(t *testing.T) {
		w := begin(t, note, limit(1000))
		w.must(ada, eventOf("e", string(text(600))))
		g := w.claim(ada, "a")
		w.refused(run.NotAccepted, ada, submitOf(g, run.Submission{Output: text(300)}))
		w.must(ada, submitOf(g, run.Submission{Output: text(50)}))
	})
}
