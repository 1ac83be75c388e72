package conformance

import (
	"encoding/base64"
	"slices"
)

func replayChecks() []Check {
	return []Check{{
		ID: "replay-every-write", Clauses: []string{"spec §4", "spec §6", "tools claim"}, Needs: Needs{Fixtures: []string{"bell-tower", "crossroads"}, Tools: []string{"send_event", "renew", "upload"}},
		Title: "Every write that is sent again has its original result and changes nothing; with other arguments it is a conflict",
		Run: func(t *T) {
			var sent []func()
			write := func(as *Actor, tool string, args, other Args) V {
				args = with(args, Args{"requestId": newID()})
				first := t.OK(as, tool, args)
				again := func() {
					t.Equal(tool+" sent again", unlinked(first.X), unlinked(t.OK(as, tool, args).X))
					t.Refused("conflict", as, tool, with(args, other))
				}
				again()
				sent = append(sent, again)
				return first
			}
			start := write(t.Member, "start_run", Args{"process": "bell-tower", "inputs": Args{}}, Args{"mode": "test"})
			id := start.Str("run.id")
			write(t.Two, "send_event", Args{"runId": id, "name": "bell", "data": Args{"n": 1}}, Args{"data": Args{"n": 2}})
			write(t.Two, "send_event", Args{"runId": id, "name": "gong", "data": Args{"n": 1}}, Args{"name": "gong-2"})
			claim := write(t.One, "claim", Args{"runId": id, "stepId": "climb"}, Args{"stepId": "gong"})
			token := claim.Str("token")
			renew := write(t.One, "renew", Args{"token": token, "progress": "half way"}, Args{"progress": "no way"})
			write(t.One, "escalate", Args{"token": renew.Str("token"), "note": "tired"}, Args{"note": "very tired"})
			item := t.OK(t.Boss, "get_run", Args{"runId": id}).At("workItems.0")
			write(t.Boss, "decide", decideArgs(item, "returned", Args{"note": "rest"}), Args{"note": "go on"})
			second := write(t.Two, "claim", Args{"runId": id, "stepId": "climb"}, Args{"runId": "r_other"})
			file := write(t.Two, "upload", Args{"fileName": "a", "contentType": "text/plain", "contentBase64": base64.StdEncoding.EncodeToString([]byte("a"))}, Args{"fileName": "b"})
			submit := Args{"token": second.Str("token"), "output": Args{"steps": 300}, "summary": "Up.", "evidence": []any{Args{"kind": "file", "ref": file.Str("id")}}}
			view := write(t.Two, "submit", submit, Args{"summary": "Down."})
			t.Equal("the step after the submission", "waiting", stateOf(view, "second-stroke"))
			write(t.Boss, "cancel", Args{"runId": id, "reason": "rain"}, Args{"reason": "snow"})
			for _, again := range sent { // also after the run has moved on, and ended
				again()
			}
			final := t.OK(t.One, "get_run", Args{"runId": id})
			t.Equal("the run after all replays", "cancelled", final.Str("run.state"))
			t.Equal("the first stroke", Args{"n": 1}, final.At("data.steps.first-stroke.output"))
			t.Equal("how often the bell rang", 0, len(final.List("data.steps.first-stroke.history")))
		},
	}, {
		ID: "replay-other-tool", Clauses: []string{"spec §4"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "A requestId is unique in the organization: not for another tool, another run or another caller",
		Run: func(t *T) {
			id := newID()
			r := t.Start(t.One, firstFixture, nil, Args{"requestId": id})
			t.Refused("conflict", t.One, "claim", Args{"runId": r.ID, "stepId": "run", "requestId": id})
			t.Refused("conflict", t.Two, "claim", Args{"runId": r.ID, "stepId": "run", "requestId": id})
			t.Refused("conflict", t.Boss, "cancel", Args{"runId": r.ID, "reason": "x", "requestId": id})
			r.Get()
			claim := newID()
			r.Claim(t.One, "run", Args{"requestId": claim})
			o := t.Start(t.One, firstFixture, nil)
			t.Refused("conflict", t.One, "claim", Args{"runId": o.ID, "stepId": "run", "requestId": claim})
			res := t.Call(t.Two, "claim", Args{"runId": r.ID, "stepId": "run", "requestId": claim})
			t.True(!res.OK, "another caller got the claim, token and all, with its requestId")
			o.Get()
		},
	}, {
		ID: "replay-exact", Clauses: []string{"spec §4"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "requestIds are compared exactly: with another case or more space it is another one",
		Run:   func(t *T) { t.exactIDs() },
	}, {
		ID: "replay-after-failure", Clauses: []string{"spec §4"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "A call that failed is not recorded: the same requestId can succeed later, with other arguments too",
		Run: func(t *T) {
			id := newID()
			r := t.Start(t.One, "relay-race", Args{})
			t.RefusedWith("conflict", []string{"not_ready"}, t.One, "claim", Args{"runId": r.ID, "stepId": "bend", "requestId": id})
			c := r.Claim(t.One, "start")
			submit := newID()
			c.NotAccepted([]string{"output.runner: missing"}, Args{"output": Args{}, "requestId": submit})
			c.Submit(Args{"requestId": submit})
			r.Claim(t.One, "bend", Args{"requestId": id}).Submit()
			start := newID()
			t.Refused("invalid", t.One, "start_run", Args{"process": "relay-race", "inputs": Args{"x": 1}, "requestId": start})
			t.Start(t.One, "relay-race", Args{}, Args{"requestId": start})
			cancel := newID()
			t.Refused("forbidden", t.Member, "cancel", Args{"runId": r.ID, "reason": "x", "requestId": cancel})
			t.OK(t.Boss, "cancel", Args{"runId": r.ID, "reason": "x", "requestId": cancel})
		},
	}, {
		ID: "replay-lost", Clauses: []string{"spec §3.3", "spec §4"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "A call whose answer was lost is sent again, and is done once",
		Run: func(t *T) {
			for range 3 {
				id := newID()
				start := Args{"process": "relay-race", "inputs": Args{}, "requestId": id}
				t.Lose(t.One, "start_run", start)
				r := t.Start(t.One, "relay-race", Args{}, Args{"requestId": id})
				claim := Args{"runId": r.ID, "stepId": "start", "requestId": newID()}
				t.Lose(t.One, "claim", claim)
				c := r.Claim(t.One, "start", claim)
				submit := c.args(Args{"requestId": newID()})
				t.Lose(t.One, "submit", submit)
				c.Submit(submit)
				t.Lose(t.Two, "claim", Args{"runId": r.ID, "stepId": "bend", "requestId": id + "2"})
				r.Claim(t.Two, "bend", Args{"requestId": id + "2"}).Submit()
				r.Get()
			}
		},
	}, {
		ID: "replay-at-once", Clauses: []string{"spec §4", "spec §6"}, Needs: Needs{Fixtures: []string{"bell-tower"}, Tools: []string{"send_event"}},
		Title: "Copies of one call that arrive together are done once, and all have one result",
		Run: func(t *T) {
			one := func(as *Actor, tool string, args Args) V {
				const n = 6
				args = with(args, Args{"requestId": newID()})
				all := make([]V, n)
				t.Together(n, func(i int) { all[i] = t.OK(as, tool, args) })
				for _, v := range all[1:] {
					t.Equal("a copy of "+tool, unlinked(all[0].X), unlinked(v.X))
				}
				return all[0]
			}
			start := one(t.One, "start_run", Args{"process": "bell-tower", "inputs": Args{}})
			id := start.Str("run.id")
			one(t.Two, "send_event", Args{"runId": id, "name": "bell", "data": Args{"n": 1}})
			claim := one(t.One, "claim", Args{"runId": id, "stepId": "climb"})
			view := one(t.One, "submit", Args{"token": claim.Str("token"), "output": Args{"steps": 1}, "summary": "Up."})
			t.Equal("the second stroke, for which no second bell rang", "waiting", stateOf(view, "second-stroke"))
			gone := one(t.Boss, "cancel", Args{"runId": id, "reason": "x"})
			t.Equal("the state", "cancelled", gone.Str("run.state"))
		},
	}}
}

// unlinked is a result without the short-lived URLs of its files.
func unlinked(x any) any {
	switch c := x.(type) {
	case map[string]any:
		out := map[string]any{}
		_, file := c["sha256"]
		for k, v := range c {
			if k == "url" && file && c["kind"] == "file" {
				continue
			}
			out[k] = unlinked(v)
		}
		return out
	case []any:
		out := make([]any, len(c))
		for i := range c {
			out[i] = unlinked(c[i])
		}
		return out
	}
	return x
}

// tally counts answers: ok, or the code with its issues.
func tally(results []Result) map[string]int {
	n := map[string]int{}
	for _, r := range results {
		key := "ok"
		if !r.OK {
			key = r.Code
			for _, i := range r.Issues {
				key += " " + i
			}
		}
		n[key]++
	}
	return n
}

// only tells whether nothing but these was answered.
func only(n map[string]int, keys ...string) bool {
	for k := range n {
		if !slices.Contains(keys, k) {
			return false
		}
	}
	return true
}

// exactIDs: what differs in anything is another requestId.
func (t *T) exactIDs() {
	id := "Q" + newID()
	seen := map[string]bool{}
	for _, each := range []string{id, id + " ", " " + id, "q" + id[1:]} {
		args := Args{"process": firstFixture, "inputs": Args{}, "requestId": each}
		run := t.OK(t.One, "start_run", args).Str("run.id")
		t.True(!seen[run], "start_run under the requestId %q was answered with the run of another requestId", each)
		seen[run], t.runs[run] = true, true
		t.Equal("the run of a replay", run, t.OK(t.One, "start_run", args).Str("run.id"))
	}
}

func raceChecks() []Check {
	return []Check{{
		ID: "race-claimants", Clauses: []string{"spec §6.2", "spec §6", "tools claim"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "Of many who claim a step at once, one gets it",
		Run: func(t *T) {
			for range 3 {
				r := t.Start(t.One, firstFixture, nil)
				results := make([]Result, 10)
				t.Together(len(results), func(i int) {
					results[i] = t.Call(t.agents[i%2], "claim", Args{"runId": r.ID, "stepId": "run"})
				})
				n := tally(results)
				t.True(n["ok"] == 1 && only(n, "ok", "conflict claimed_by_you", "conflict claimed_by_other"), "ten claims at once were answered %v", n)
				for i, res := range results {
					if res.OK {
						r.step("run").state = "claimed"
						c := &Claim{r: r, as: t.agents[i%2], step: "run", Token: res.Data.Str("token"), View: res.Data}
						c.Submit()
					}
				}
			}
		},
	}, {
		ID: "race-deciders", Clauses: []string{"spec §3.4", "spec §6", "tools decide"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "Of many who decide an item at once, one does, and the others learn that it is decided",
		Run: func(t *T) {
			for _, both := range []bool{false, true} {
				r := t.toVerdict()
				item := r.Item("verdict")
				results := make([]Result, 8)
				t.Together(len(results), func(i int) {
					args := decideArgs(item, "approved")
					if both && i >= 4 {
						args = decideArgs(item, "rejected", Args{"note": "no"})
					}
					results[i] = t.Call([]*Actor{t.Member, t.Colleague}[i%2], "decide", args)
				})
				n := tally(results)
				t.True(n["ok"] == 1 && only(n, "ok", "conflict already_decided"), "eight decisions at once were answered %v", n)
				approved := stateOf(r.raw(), "verdict") == "done"
				for i, res := range results {
					if res.OK {
						t.True(approved == (!both || i < 4), "the decision that was answered ok is not the one that was taken")
					}
				}
			}
		},
	}, {
		ID: "race-claim-cancel", Clauses: []string{"spec §3.5", "spec §6"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "A claim against a cancel: the run ends cancelled, and no token works",
		Run: func(t *T) {
			for range 4 {
				r := t.Start(t.One, firstFixture, nil)
				results := make([]Result, 4)
				t.Together(4, func(i int) {
					if i == 0 {
						results[i] = t.Call(t.Boss, "cancel", Args{"runId": r.ID, "reason": "race"})
					} else {
						results[i] = t.Call(t.agents[i%2], "claim", Args{"runId": r.ID, "stepId": "run"})
					}
				})
				t.True(results[0].OK, "cancel was refused: %s", results[0].raw)
				n := tally(results[1:])
				t.True(n["ok"] <= 1 && only(n, "ok", "conflict run_ended", "conflict claimed_by_you", "conflict claimed_by_other"), "claims beside a cancel were answered %v", n)
				for i, res := range results[1:] {
					if res.OK {
						t.RunEnded(t.agents[(i+1)%2], "submit", Args{"token": res.Data.Str("token"), "output": Args{}, "summary": "late"})
					}
				}
				r.m.end("cancelled", nil, Args{"by": t.Boss.ID, "at": aTime{}, "note": "race"})
				r.Get()
			}
		},
	}, {
		ID: "race-submit-renew", Clauses: []string{"spec §6.2", "spec §6"}, Needs: Needs{Fixtures: []string{"relay-race"}, Tools: []string{"renew"}},
		Title: "Of a submission and a renewal with one token at once, one is done",
		Run: func(t *T) {
			for range 4 {
				r := t.Start(t.One, "relay-race", Args{})
				c := r.Claim(t.One, "start")
				args := c.args()
				results := make([]Result, 2)
				t.Together(2, func(i int) {
					if i == 0 {
						results[i] = t.Call(t.One, "submit", args)
					} else {
						results[i] = t.Call(t.One, "renew", Args{"token": c.Token})
					}
				})
				n := tally(results)
				t.True(n["ok"] == 1 && only(n, "ok", "stale"), "a submission and a renewal with one token were answered %v", n)
			}
		},
	}, {
		ID: "race-submissions", Clauses: []string{"spec §6.2", "spec §6"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "Of many submissions with one token at once, one counts",
		Run: func(t *T) {
			r := t.Start(t.One, "relay-race", Args{})
			c := r.Claim(t.One, "start")
			results := make([]Result, 6)
			args := c.args()
			named := func(i int) Args { return with(args, Args{"output": Args{"runner": string(rune('a' + i))}}) }
			t.Together(len(results), func(i int) {
				results[i] = t.Call(t.One, "submit", with(args, Args{"output": Args{"runner": i}}))
			})
			t.True(tally(results)["ok"] == 0, "a number was accepted for a string")
			t.Together(len(results), func(i int) { results[i] = t.Call(t.One, "submit", named(i)) })
			n := tally(results)
			t.True(n["ok"] == 1 && only(n, "ok", "stale"), "six submissions at once were answered %v", n)
			for i, res := range results {
				if res.OK {
					r.step("start").handoff = nil
					r.submitted("start", t.One, named(i))
					r.see("submit", res.Data)
				}
			}
			r.Get()
		},
	}}
}
