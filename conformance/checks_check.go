package conformance

import "strings"

func checkProfileChecks() []Check {
	needs := func(fixture string) Needs { return Needs{Fixtures: []string{fixture}, Profiles: []string{"check-1"}} }
	verdict := func(v string, advisory bool) Args {
		return Args{"verdict": v, "advisory": advisory, "model": aText{}, "questions": anything{}, "at": aTime{}, "truncated": perhaps{anything{}}}
	}
	return []Check{{
		ID: "check-limits", Clauses: []string{"check §5"}, Needs: Needs{Profiles: []string{"check-1"}},
		Title: "describe.limits carries the thresholds of checks and how much an evaluator is shown",
		Run: func(t *T) {
			d := t.OK(t.One, "describe", nil)
			for _, key := range []string{"checkPass", "checkConfidence", "checkStateBytes"} {
				t.True(d.At("limits."+key).X != nil, "describe.limits has no %s", key)
			}
		},
	}, {
		ID: "check-pass", Clauses: []string{"check §3", "check §2"}, Needs: needs("judged-leniently"),
		Title: "A submission that passes completes the step, and its verdict is in run data, an answer for each question",
		Run: func(t *T) {
			r := t.Start(t.One, "judged-leniently", nil)
			v := r.Claim(t.One, "report").Submit()
			check := v.At("data.steps.report.check")
			t.Match("data.steps.report.check", verdict("pass", false), check)
			kinds := []string{"yes_no", "choice", "rubric"}
			questions := check.List("questions")
			t.True(len(questions) == 3, "the verdict has %d questions instead of 3", len(questions))
			for i, q := range r.step("report").def.Check {
				want := Args{"ask": q.Ask, "kind": kinds[i], "answer": anything{}, "confidence": perhaps{anything{}}, "result": "pass"}
				t.Match("a question of the verdict", want, questions[i])
			}
		},
	}, {
		ID: "check-truncated", Clauses: []string{"check §5"}, Needs: needs("judged-leniently"),
		Title: "Run data larger than checkStateBytes is cut for the evaluator, and the verdict says so; smaller is not",
		Run: func(t *T) {
			limits := t.OK(t.One, "describe", nil).At("limits")
			shown := limits.Int("checkStateBytes")
			if limits.Int("runDataBytes") < shown+2048 {
				t.Skip("this server's runs cannot hold more than checkStateBytes")
			}
			for _, c := range []struct {
				size int64
				want bool
			}{{10, false}, {shown + 1024, true}} {
				r := t.Start(t.One, "judged-leniently", Args{"notes": strings.Repeat("x", int(c.size))})
				v := r.Claim(t.One, "report").Submit()
				t.Equal("truncated in the verdict", c.want, v.At("data.steps.report.check.truncated").X == true)
			}
		},
	}, {
		ID: "check-fail", Clauses: []string{"check §3", "tools get_work"}, Needs: needs("judged-harshly"),
		Title: "A failing submission is not accepted: an issue for each question, nothing in run data, the verdict in the handoff",
		Run: func(t *T) {
			r := t.Start(t.One, "judged-harshly", nil)
			c := r.Claim(t.One, "report")
			ask := r.step("report").def.Check[0].Ask
			res := t.RefusedWith("not_accepted", []string{"check: " + ask + " → no (*"}, t.One, "submit", c.args())
			t.True(strings.HasSuffix(res.Issues[0], ")"), "the issue of a failed check is %q", res.Issues[0])
			r.Get()
			r.step("report").addHandoff("issues", norm(res.Issues))
			r.step("report").addHandoff("check", verdict("fail", false))
			c.Escalate("It is never good enough.")
			r.Return(t.Boss, "report", "Try verse.")
			r.Work(t.One, "report")
			r.Claim(t.Two, "report").Escalate("No.")
			// A person who completes an escalated step is not checked again.
			r.Complete(t.Boss, "report")
			r.Get()
		},
	}, {
		ID: "check-objective-first", Clauses: []string{"check §3"}, Needs: needs("judged-harshly"),
		Title: "The objective rules come before the check",
		Run: func(t *T) {
			r := t.Start(t.One, "judged-harshly", nil)
			c := r.Claim(t.One, "report")
			t.RefusedWith("not_accepted", []string{"output.text: missing"}, t.One, "submit", c.args(Args{"output": Args{}}))
			r.step("report").addHandoff("issues", anything{})
			r.Get()
		},
	}, {
		ID: "check-unsure", Clauses: []string{"check §3", "tools submit", "tools shared-shapes"}, Needs: needs("judged-doubtfully"),
		Title: "An unsure submission is held, and a person sees the verdict and the candidate, and may accept it",
		Run: func(t *T) {
			for _, how := range []string{"candidate", "own", "returned", "failed"} {
				r := t.Start(t.One, "judged-doubtfully", nil)
				c := r.Claim(t.One, "report")
				args := c.args()
				v := t.OK(t.One, "submit", args)
				t.Equal("the state of the step", "waiting", stateOf(v, "report"))
				item := v.At("workItems.0")
				t.Match("escalation.check", verdict("unsure", false), item.At("escalation.check"))
				t.Equal("escalation.candidate.output", args["output"], item.At("escalation.candidate.output"))
				t.Equal("escalation.candidate.summary", args["summary"], item.At("escalation.candidate.summary"))
				t.Match("data.steps.report.check", verdict("unsure", false), v.At("data.steps.report.check"))
				t.True(v.At("data.steps.report.output").X == nil, "a held submission is in run data")
				t.Equal("decisions", []string{"completed", "failed", "returned"}, sorted(item.Strs("decide.decisions")))
				t.stale(c)
				decide := decideArgs(item, "completed")
				switch how {
				case "own":
					decide["output"] = Args{"text": "My own."}
				case "returned":
					decide = decideArgs(item, "returned", Args{"note": "Again."})
				case "failed":
					decide = decideArgs(item, "failed", Args{"note": "No use."})
				}
				after := t.OK(t.Boss, "decide", decide)
				switch how {
				case "candidate":
					t.Equal("the output", args["output"], after.At("data.steps.report.output"))
					t.Equal("who completed it", t.Boss.ID, after.Str("data.steps.report.by"))
					t.Equal("the outcome", "filed", after.Str("run.outcome"))
				case "own":
					t.Equal("the output", decide["output"], after.At("data.steps.report.output"))
				case "returned":
					again := t.OK(t.Two, "claim", Args{"runId": r.ID, "stepId": "report"})
					t.Match("handoff.check", verdict("unsure", false), again.At("handoff.check"))
					t.Match("handoff.returned", Args{"note": "Again.", "by": t.Boss.ID, "at": aTime{}}, again.At("handoff.returned"))
				case "failed":
					t.Equal("the outcome", "failed", after.Str("run.outcome"))
				}
			}
		},
	}, {
		ID: "check-worst", Clauses: []string{"check §3"}, Needs: needs("judged-worst"),
		Title: "The verdict is that of the worst question: unsure outranks fail",
		Run: func(t *T) {
			r := t.Start(t.One, "judged-worst", nil)
			v := t.OK(t.One, "submit", r.Claim(t.One, "report").args())
			t.Equal("the verdict", "unsure", v.Str("data.steps.report.check.verdict"))
			t.Equal("the results of the questions", []string{"fail", "unsure"},
				[]string{v.Str("data.steps.report.check.questions.0.result"), v.Str("data.steps.report.check.questions.1.result")})
		},
	}, {
		ID: "check-advisory", Clauses: []string{"check §3", "check §2"}, Needs: needs("judged-in-passing"),
		Title: "An advisory check records its verdict and blocks nothing",
		Run: func(t *T) {
			r := t.Start(t.One, "judged-in-passing", nil)
			v := r.Claim(t.One, "report").Submit()
			t.Match("data.steps.report.check", verdict("fail", true), v.At("data.steps.report.check"))
		},
	}, {
		ID: "check-task", Clauses: []string{"check §3", "check §2"}, Needs: needs("judged-person"),
		Title: "A person's task is checked as an agent's work is, and what failed is in the item's handoff",
		Run: func(t *T) {
			r := t.Start(t.One, "judged-person", nil)
			ask := r.step("report").def.Check[0].Ask
			t.RefusedWith("not_accepted", []string{"check: " + ask + " → no (*"}, t.Member, "decide", r.completeArgs(t.Member, "report"))
			v := r.raw()
			t.Match("handoff.check", verdict("fail", false), v.At("workItems.0.handoff.check"))
			t.True(len(v.Strs("workItems.0.handoff.issues")) == 1, "the handoff has issues %s", v.At("workItems.0.handoff.issues"))
			t.True(v.At("data.steps.report").X == nil, "a refused submission is in run data")
		},
	}}
}
