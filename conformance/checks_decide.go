package conformance

func decideChecks() []Check {
	invalid := []string{"invalid"}
	lenient := []string{"invalid", "not_accepted"}
	return []Check{{
		ID: "decide-table", Clauses: []string{"tools decide", "spec §3.4"}, Needs: Needs{Fixtures: []string{"spare-key", "relay-race", firstFixture}},
		Title: "Each kind of item takes the decisions that it lists, and no other",
		Run: func(t *T) {
			task := t.Start(t.One, "spare-key", Args{"keeper": t.Member.Person})
			task.Claim(t.One, "carve").Submit()
			approval := t.toVerdict()
			escalated := t.Start(t.One, firstFixture, nil)
			escalated.Claim(t.One, "run").Escalate("stuck")
			for _, x := range []struct {
				r    *Run
				as   *Actor
				step string
				not  []string
			}{
				{task, t.Member, "keep", []string{"approved", "rejected", "returned"}},
				{approval, t.Colleague, "verdict", []string{"completed", "returned"}},
				{escalated, t.Boss, "run", []string{"approved", "rejected"}},
			} {
				for _, decision := range x.not {
					more := Args{"note": "why"}
					switch decision {
					case "completed":
						more = Args{"output": Args{}}
					case "approved":
						more = nil
					}
					t.RefusedAs(lenient, x.as, "decide", decideArgs(x.r.Item(x.step), decision, more))
				}
				t.RefusedAs(invalid, x.as, "decide", decideArgs(x.r.Item(x.step), "maybe"))
				x.r.Get()
			}
			task.FailStep(t.Member, "keep", "no mat")
			approval.FailStep(t.Member, "verdict", "rain")
			escalated.FailStep(t.Boss, "run", "no")
			escalated.Get()
		},
	}, {
		ID: "decide-requires", Clauses: []string{"tools decide", "spec §3.4"}, Needs: Needs{Fixtures: []string{"relay-race", firstFixture, "crossroads"}},
		Title: "rejected, returned and failed need a note, completed on a list of routes needs next and reason",
		Run: func(t *T) {
			v := t.toVerdict()
			for _, decision := range []string{"rejected", "failed"} {
				t.RefusedAs(lenient, t.Member, "decide", decideArgs(v.Item("verdict"), decision))
			}
			v.Get()
			e := t.Start(t.One, firstFixture, nil)
			e.Claim(t.One, "run").Escalate("stuck")
			for _, decision := range []string{"returned", "failed"} {
				t.RefusedAs(lenient, t.Boss, "decide", decideArgs(e.Item("run"), decision))
			}
			e.Get()
			c := t.Start(t.One, "crossroads", nil)
			c.Claim(t.One, "look").Submit()
			t.RefusedWith("not_accepted", []string{"next: required, one of west, east", "reason: required"}, t.Member, "decide", without(c.completeArgs(t.Member, "ask"), "next", "reason"))
			t.RefusedWith("not_accepted", []string{"evidence: link required"}, t.Member, "decide", without(c.completeArgs(t.Member, "ask"), "evidence"))
			t.RefusedWith("not_accepted", []string{"output.x: not declared", "reason: required"}, t.Member, "decide", without(c.completeArgs(t.Member, "ask", Args{"output": Args{"x": 1}}), "reason"))
			t.Equal("the state of the step", "waiting", stateOf(c.raw(), "ask"))
		},
	}, {
		ID: "decide-takes", Clauses: []string{"tools decide", "spec §3.2"}, Needs: Needs{Fixtures: []string{"relay-race", firstFixture, "spare-key"}},
		Title: "Arguments that do not go with the decision are invalid, and decide nothing",
		Run: func(t *T) {
			v := t.toVerdict()
			for _, extra := range []Args{
				{"next": "protest", "reason": "x"}, {"next": "protest"}, {"reason": "x"}, {"output": Args{}}, {"evidence": []any{}}, {"summary": "s"},
			} {
				t.Refused("invalid", t.Member, "decide", decideArgs(v.Item("verdict"), "approved", extra))
				t.Refused("invalid", t.Member, "decide", decideArgs(v.Item("verdict"), "rejected", extra, Args{"note": "n"}))
				t.Refused("invalid", t.Member, "decide", decideArgs(v.Item("verdict"), "failed", extra, Args{"note": "n"}))
			}
			v.Get()
			e := t.Start(t.One, firstFixture, nil)
			e.Claim(t.One, "run").Escalate("stuck")
			t.Refused("invalid", t.Boss, "decide", decideArgs(e.Item("run"), "returned", Args{"note": "n", "output": Args{}}))
			t.Refused("invalid", t.Boss, "decide", decideArgs(e.Item("run"), "completed", Args{"note": "n", "output": Args{}}))
			e.Get()
			k := t.Start(t.One, "spare-key", Args{"keeper": t.Member.Person})
			k.Claim(t.One, "carve").Submit()
			t.Refused("invalid", t.Member, "decide", decideArgs(k.Item("keep"), "completed", Args{"note": "n", "output": Args{}}))
			k.Get()
		},
	}, {
		ID: "decide-first-wins", Clauses: []string{"spec §3.4", "tools decide"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "Any member decides, the first decision wins, and the second member is told already_decided",
		Run: func(t *T) {
			r := t.toVerdict()
			item := r.Work(t.Colleague, "verdict").At("workItem")
			r.Approve(t.Member, "verdict", "")
			for _, decision := range []Args{decideArgs(item, "approved"), decideArgs(item, "rejected", Args{"note": "n"}), decideArgs(item, "failed", Args{"note": "n"})} {
				t.RefusedWith("conflict", []string{"already_decided"}, t.Colleague, "decide", decision)
			}
			t.RefusedWith("conflict", []string{"already_decided"}, t.Member, "decide", decideArgs(item, "approved"))
			r.Get()
		},
	}, {
		ID: "decide-note", Clauses: []string{"spec §3.1", "spec §3.2", "tools shared-shapes"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "An approval records its decision, note, by and at, and nothing else",
		Run: func(t *T) {
			r := t.toVerdict()
			r.Approve(t.Colleague, "verdict", "Fair enough, says \"the judge\".")
			r.Approve(t.Member, "protest", "")
			r.Get()
		},
	}, {
		ID: "decide-people-only", Clauses: []string{"spec §6.4", "tools decide"}, Needs: Needs{Fixtures: []string{"spare-key", "relay-race"}},
		Title: "An agent decides nothing, and neither does a person who is not asked",
		Run: func(t *T) {
			r := t.toVerdict()
			for _, a := range []*Actor{t.One, t.Two, t.Outsider} {
				t.Refused("forbidden", a, "decide", decideArgs(r.Item("verdict"), "approved"))
				t.Refused("forbidden", a, "decide", decideArgs(r.Item("verdict"), "failed", Args{"note": "n"}))
			}
			r.Get()
			k := t.Start(t.One, "spare-key", Args{"keeper": t.Outsider.Person})
			k.Claim(t.One, "carve").Submit()
			for _, a := range []*Actor{t.One, t.Member, t.Colleague} {
				t.Refused("forbidden", a, "decide", k.completeArgs(a, "keep"))
			}
			k.Get()
			k.Complete(t.Outsider, "keep")
		},
	}}
}

func decideOrderChecks() []Check {
	return []Check{{
		ID: "decide-order", Clauses: []string{"tools decide", "spec §3.4", "spec §4.3"}, Needs: Needs{Fixtures: []string{"relay-race", "crossroads"}},
		Title: "decide looks in this order: run ended, already decided, no such item, stale, forbidden, not accepted",
		Run: func(t *T) {
			r := t.toVerdict()
			decided := r.Item("verdict")
			r.Approve(t.Member, "verdict", "")
			open := r.Item("protest")
			old := Args{"snapshot": decided.Str("snapshot")}
			// Already decided comes before stale and forbidden.
			t.RefusedWith("conflict", []string{"already_decided"}, t.Outsider, "decide", decideArgs(decided, "approved"))
			t.RefusedWith("conflict", []string{"already_decided"}, t.Colleague, "decide", decideArgs(decided, "approved", Args{"snapshot": "0"}))
			// An item that never was comes before stale and forbidden.
			t.Refused("not_found", t.Outsider, "decide", decideArgs(open, "approved", Args{"workItemId": "w_none", "snapshot": "0"}))
			t.Refused("not_found", t.Member, "decide", decideArgs(open, "approved", Args{"workItemId": "w_none"}))
			other := t.Start(t.One, "crossroads", nil)
			other.Claim(t.One, "look").Submit()
			if id := other.Item("ask").Str("id"); id != decided.Str("id") && id != open.Str("id") { // ids may be unique within a run only
				t.Refused("not_found", t.Member, "decide", decideArgs(other.Item("ask"), "completed", Args{"runId": r.ID, "output": Args{}}))
			}
			// Stale comes before forbidden.
			t.Refused("stale", t.Outsider, "decide", decideArgs(open, "approved", old))
			t.RefusedAs([]string{"stale", "forbidden"}, t.One, "decide", decideArgs(open, "approved", old))
			t.Refused("stale", t.Member, "decide", decideArgs(open, "approved", Args{"snapshot": "0"}))
			t.Refused("stale", t.Member, "decide", decideArgs(other.Item("ask"), "completed", Args{"output": Args{"x": 1}, "snapshot": "0"}))
			// Forbidden comes before not accepted.
			t.Refused("forbidden", t.Outsider, "decide", decideArgs(other.Item("ask"), "completed", Args{"output": Args{"x": 1}}))
			r.Get()
			other.Get()
			// The same decision is good with a fresh snapshot.
			r.Approve(t.Member, "protest", "")
			// Run ended comes before everything.
			for _, a := range []*Actor{t.Member, t.Outsider, t.One} {
				t.RunEnded(a, "decide", decideArgs(decided, "approved"))
				t.RunEnded(a, "decide", decideArgs(open, "approved", Args{"workItemId": "w_none"}))
				t.RunEnded(a, "decide", decideArgs(open, "approved", old))
			}
			r.Get()
		},
	}, {
		ID: "decide-stale-again", Clauses: []string{"spec §3.4", "spec §6.4", "tools decide"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "A decision with an old snapshot is stale and changes nothing; after a fresh read it may be sent again",
		Run: func(t *T) {
			r := t.toVerdict()
			old := r.Item("verdict").Str("snapshot")
			r.Reject(t.Member, "verdict", "again")
			r.Claim(t.One, "bend").Submit()
			r.Claim(t.Two, "straight").Submit()
			for _, decision := range []string{"approved", "rejected", "failed"} {
				args := decideArgs(r.Item("verdict"), decision, Args{"snapshot": old})
				if decision != "approved" {
					args["note"] = "n"
				}
				t.Refused("stale", t.Member, "decide", args)
			}
			r.Get()
			r.Approve(t.Member, "verdict", "")
		},
	}}
}

func reworkChecks() []Check {
	return []Check{{
		ID: "rework-history", Clauses: []string{"spec §3.1", "spec §6.1", "tools shared-shapes"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "A rejection moves later completions to history, oldest first, keeps its own note, and leaves earlier steps alone",
		Run: func(t *T) {
			r := t.toVerdict()
			for i, note := range []string{"Too slow.", "Still too slow.", "Last chance."} {
				r.Reject(t.humans[i%2], "verdict", note)
				c := r.Claim(t.agents[i%2], "bend")
				t.Equal("the note that the returned-to step reads", note, c.View.Str("data.steps.verdict.note"))
				t.Equal("the handoff of a fresh attempt", nil, c.View.At("handoff"))
				c.Submit(Args{"output": Args{"seconds": i}})
				r.Claim(t.Two, "straight").Submit(Args{"output": Args{"seconds": i * 10}})
			}
			r.Approve(t.Member, "verdict", "Good.")
			v := r.Get()
			t.Equal("the number of earlier verdicts", 3, len(v.List("data.steps.verdict.history")))
			t.Equal("the first of them", "Too slow.", v.Str("data.steps.verdict.history.0.note"))
			t.Equal("the number of earlier bends", 3, len(v.List("data.steps.bend.history")))
			t.Equal("the number of earlier starts", 0, len(v.List("data.steps.start.history")))
		},
	}, {
		ID: "rework-ends-run", Clauses: []string{"spec §2.2", "spec §3.5", "spec §3.4"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "A rejection without on_reject ends the run as rejected, with its note",
		Run: func(t *T) {
			r := t.toVerdict()
			r.Reject(t.Member, "verdict", "first this")
			r.Claim(t.One, "bend").Submit()
			r.Claim(t.One, "straight").Submit()
			r.Approve(t.Member, "verdict", "")
			r.Reject(t.Colleague, "protest", "The track was too short.")
			r.Get()
		},
	}, {
		ID: "rework-twice-nested", Clauses: []string{"spec §3.1", "spec §6.1"}, Needs: Needs{Fixtures: []string{"outage-review"}},
		Title: "Rework within rework: an outer rejection moves an inner rejecting approval to history as well",
		Run: func(t *T) {
			r := t.Start(t.One, "outage-review", Args{"commander": t.Member.Person, "reviewer": t.Colleague.Person})
			r.Complete(t.Member, "timeline")
			r.Claim(t.One, "analysis").Submit()
			r.Reject(t.Member, "check-facts", "facts")
			r.Claim(t.One, "analysis").Submit()
			r.Approve(t.Member, "check-facts", "now right")
			r.Reject(t.Colleague, "publish", "all over again")
			r.Complete(t.Member, "timeline")
			r.Claim(t.Two, "analysis").Submit()
			r.Approve(t.Member, "check-facts", "")
			r.Approve(t.Colleague, "publish", "")
			r.Get()
		},
	}}
}
