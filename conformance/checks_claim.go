package conformance

import (
	"strings"
	"time"
)

func claimChecks() []Check {
	return []Check{{
		ID: "claim-conflicts", Clauses: []string{"tools claim", "spec §6.2"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "A step that is claimed, done or not reached cannot be claimed, and the conflict says which",
		Run: func(t *T) {
			r := t.Start(t.One, "relay-race", Args{})
			claim := func(as *Actor, step, why string) {
				t.RefusedWith("conflict", []string{why}, as, "claim", Args{"runId": r.ID, "stepId": step})
			}
			claim(t.One, "bend", "not_ready")
			c := r.Claim(t.One, "start")
			claim(t.One, "start", "claimed_by_you")
			claim(t.Two, "start", "claimed_by_other")
			r.Get()
			c.Submit()
			claim(t.One, "start", "not_ready")
			claim(t.Two, "start", "not_ready")
			claim(t.Two, "straight", "not_ready")
			r.Claim(t.Two, "bend").Escalate("stuck")
			claim(t.One, "bend", "not_ready")
			r.Get()
		},
	}, {
		ID: "claim-kinds", Clauses: []string{"tools claim", "spec §4.1"}, Needs: Needs{Fixtures: []string{"spare-key", "relay-race"}},
		Title: "Only agent steps are claimed, and only by agents",
		Run: func(t *T) {
			r := t.Start(t.One, "spare-key", Args{"keeper": t.Member.Person})
			for _, a := range t.humans {
				t.Refused("forbidden", a, "claim", Args{"runId": r.ID, "stepId": "carve"})
			}
			r.Claim(t.One, "carve").Submit()
			t.Refused("forbidden", t.One, "claim", Args{"runId": r.ID, "stepId": "keep"})
			v := t.toVerdict()
			t.Refused("forbidden", t.One, "claim", Args{"runId": v.ID, "stepId": "verdict"})
			t.Refused("forbidden", t.One, "claim", Args{"runId": v.ID, "stepId": "podium"})
			t.Refused("not_found", t.One, "claim", Args{"runId": v.ID, "stepId": "no-such-step"})
			r.Get()
			v.Get()
		},
	}, {
		ID: "claim-tokens", Clauses: []string{"spec §6.2", "tools claim"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "A token that does not verify is invalid on every tool that takes one",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			c := r.Claim(t.One, "run")
			half := len(c.Token) / 2
			for _, token := range []string{
				"x", "token", c.Token + "x", c.Token[:half], strings.ToUpper(c.Token) + "A", "." + c.Token, c.Token[:half] + flip(c.Token[half:]), c.Token[half:],
			} {
				if token == c.Token {
					continue
				}
				t.Refused("invalid", t.One, "submit", Args{"token": token, "output": Args{}, "summary": "forged"})
				t.Refused("invalid", t.One, "escalate", Args{"token": token, "note": "forged"})
				if t.offers("renew") {
					t.Refused("invalid", t.One, "renew", Args{"token": token})
				}
			}
			r.Get()
			c.Submit()
		},
	}, {
		ID: "claim-owner", Clauses: []string{"spec §6.2"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "A claimed step belongs to one caller: nobody else can use its token",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			c := r.Claim(t.One, "run")
			codes := []string{"forbidden", "stale", "invalid"}
			for _, a := range t.everyone[1:] {
				t.RefusedAs(codes, a, "submit", Args{"token": c.Token, "output": Args{}, "summary": "not mine"})
				t.RefusedAs(codes, a, "escalate", Args{"token": c.Token, "note": "not mine"})
				if t.offers("renew") {
					t.RefusedAs(codes, a, "renew", Args{"token": c.Token})
				}
			}
			r.Get()
			c.Submit()
		},
	}, {
		ID: "claim-fresh-tokens", Clauses: []string{"spec §6.2"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "Every claim has a token of its own, and a token of another step or run does not do",
		Run: func(t *T) {
			seen := map[string]bool{}
			r := t.Start(t.One, "relay-race", Args{})
			var old []string
			for _, step := range []string{"start", "bend", "straight"} {
				c := r.Claim(t.One, step)
				t.True(!seen[c.Token], "a token was given out twice")
				seen[c.Token] = true
				for _, token := range old {
					t.Refused("stale", t.One, "submit", with(c.args(), Args{"token": token}))
				}
				old = append(old, c.Token)
				c.Submit()
			}
			r.Get()
		},
	}}
}

func (t *T) offers(tool string) bool {
	for _, name := range t.Tools {
		if name == tool {
			return true
		}
	}
	return false
}

// flip changes the first letter.
func flip(s string) string {
	if strings.HasPrefix(s, "A") {
		return "B" + s[1:]
	}
	return "A" + s[1:]
}

func leaseChecks() []Check {
	return []Check{{
		ID: "lease-ends", Clauses: []string{"spec §3.3", "spec §6.2", "tools submit"}, Needs: Needs{Fixtures: []string{firstFixture}, Lease: true},
		Title: "When a lease ends the step can be claimed at once, and the old token is stale for good",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			c := r.Claim(t.One, "run")
			t.RefusedWith("conflict", []string{"claimed_by_other"}, t.Two, "claim", Args{"runId": r.ID, "stepId": "run"})
			c.expire()
			t.stale(c)
			r.Get()
			item := r.Work(t.Two, "run")
			since, _ := when(item.Str("readySince"))
			started, _ := when(r.Last.Str("run.startedAt"))
			t.True(!since.Before(started), "readySince is before the run")
			d := r.Claim(t.Two, "run")
			t.stale(c)
			t.RefusedWith("conflict", []string{"claimed_by_other"}, t.One, "claim", Args{"runId": r.ID, "stepId": "run"})
			d.Submit()
		},
	}, {
		ID: "lease-handoff", Clauses: []string{"spec §3.3", "tools renew", "tools get_work"}, Needs: Needs{Fixtures: []string{firstFixture}, Tools: []string{"renew"}, Lease: true},
		Title: "The last progress note of a lease that ended is in the handoff of the next claim",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			c := r.Claim(t.One, "run")
			c.Renew("Went half way.")
			c.Renew("Went three quarters of the way: \"fine\".")
			c.Renew("")
			r.Get()
			c.expire()
			r.step("run").addHandoff("progress", "Went three quarters of the way: \"fine\".")
			r.Work(t.One, "run")
			r.Claim(t.Two, "run").Submit()
		},
	}, {
		ID: "lease-issues", Clauses: []string{"spec §3.3", "tools get_work"}, Needs: Needs{Fixtures: []string{"paper-trail"}, Lease: true},
		Title: "The issues of a refused submission are in the handoff once the lease ended",
		Run: func(t *T) {
			r := t.Start(t.One, "paper-trail", nil)
			c := r.Claim(t.One, "collect")
			c.NotAccepted([]string{"output.pages: missing"}, Args{"output": Args{}})
			c.expire()
			r.Work(t.Two, "collect")
			r.Claim(t.One, "collect").Submit()
		},
	}, {
		ID: "lease-renewed", Clauses: []string{"spec §3.3", "tools renew"}, Needs: Needs{Fixtures: []string{firstFixture}, Tools: []string{"renew"}, Lease: true},
		Title: "A renewed lease lasts from the renewal, beyond the end of the first",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			c := r.Claim(t.One, "run")
			end, _ := when(c.View.Str("expiresAt"))
			t.sleep(t.Lease * 2 / 3)
			c.Renew("on my way")
			t.sleep(max(0, time.Until(end)) + t.Lease/10)
			t.RefusedWith("conflict", []string{"claimed_by_other"}, t.Two, "claim", Args{"runId": r.ID, "stepId": "run"})
			r.Get()
			c.Submit()
		},
	}, {
		ID: "lease-replay", Clauses: []string{"spec §3.3", "tools claim", "spec §4"}, Needs: Needs{Fixtures: []string{firstFixture}, Lease: true},
		Title: "A claim that is sent again after its lease ended has its original result",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			id := newID()
			c := r.Claim(t.One, "run", Args{"requestId": id})
			c.expire()
			again := t.OK(t.One, "claim", Args{"runId": r.ID, "stepId": "run", "requestId": id})
			t.Equal("the claim sent again", c.View.X, again.X)
			t.stale(c)
			r.Get()
			r.Claim(t.Two, "run").Submit()
			again = t.OK(t.One, "claim", Args{"runId": r.ID, "stepId": "run", "requestId": id})
			t.Equal("the claim sent again, later", c.View.X, again.X)
		},
	}, {
		ID: "lease-returned", Clauses: []string{"spec §3.4", "tools get_work"}, Needs: Needs{Fixtures: []string{firstFixture}, Lease: true},
		Title: "A note with which a person returned a step survives a lease that ended",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			r.Claim(t.One, "run").Escalate("lost")
			r.Return(t.Boss, "run", "turn left")
			r.Claim(t.Two, "run").expire()
			r.Work(t.One, "run")
			r.Claim(t.One, "run").Submit()
		},
	}}
}

// stale: a token that was good does nothing any more.
func (t *T) stale(c *Claim) {
	t.Refused("stale", c.as, "submit", Args{"token": c.Token, "output": Args{}, "summary": "late"})
	t.Refused("stale", c.as, "escalate", Args{"token": c.Token, "note": "late"})
	if t.offers("renew") {
		t.Refused("stale", c.as, "renew", Args{"token": c.Token})
	}
}

func renewChecks() []Check {
	return []Check{{
		ID: "renew-replaces", Clauses: []string{"tools renew", "spec §3.3", "spec §6.2"}, Needs: Needs{Fixtures: []string{firstFixture}, Tools: []string{"renew"}},
		Title: "renew gives a new token and expiry, and the old token is stale at once",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			c := r.Claim(t.One, "run")
			first := *c
			c.Renew("")
			t.stale(&first)
			second := *c
			c.Renew("nearly there")
			t.stale(&first)
			t.stale(&second)
			r.Get()
			t.RefusedWith("conflict", []string{"claimed_by_you"}, t.One, "claim", Args{"runId": r.ID, "stepId": "run"})
			c.Submit()
		},
	}, {
		ID: "renew-expiry", Clauses: []string{"tools renew", "spec §3.3"}, Needs: Needs{Fixtures: []string{firstFixture}, Tools: []string{"renew"}},
		Title: "A renewed lease ends later than the one before",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			c := r.Claim(t.One, "run")
			first, _ := when(c.View.Str("expiresAt"))
			t.sleep(1100 * time.Millisecond)
			v := t.OK(t.One, "renew", Args{"token": c.Token})
			t.Match("renew", Args{"token": aText{}, "expiresAt": aTime{}}, v)
			second, _ := when(v.Str("expiresAt"))
			t.True(second.After(first), "the lease ended at %s, and ends at %s after renew", first, second)
			gained := second.Sub(first)
			t.True(gained < t.Lease+time.Minute, "renew moved the end of the lease by %s: it is to be now plus %s", gained, t.Lease)
		},
	}}
}

func escalateChecks() []Check {
	return []Check{{
		ID: "escalate-item", Clauses: []string{"tools escalate", "spec §3.3", "tools shared-shapes"}, Needs: Needs{Fixtures: []string{"crossroads"}},
		Title: "escalate makes the step wait on a person, with the note, and the token is dead",
		Run: func(t *T) {
			r := t.Start(t.One, "crossroads", nil)
			c := r.Claim(t.One, "look")
			c.Escalate("The sign is in a language that I do not read: \"ᚠᚢᚦ\".")
			t.stale(c)
			r.NoWork(t.One, "look")
			r.NoWork(t.Two, "look")
			r.Work(t.Boss, "look")
			t.Equal("the kind of the item", "agent", r.Item("look").Str("kind"))
			for _, a := range t.agents {
				t.RefusedWith("conflict", []string{"not_ready"}, a, "claim", Args{"runId": r.ID, "stepId": "look"})
			}
			r.Get()
		},
	}, {
		ID: "escalate-returned", Clauses: []string{"spec §3.4", "tools get_work", "tools decide"}, Needs: Needs{Fixtures: []string{"crossroads"}},
		Title: "A returned step is ready again, and the note is in the handoff of get_work and claim",
		Run: func(t *T) {
			r := t.Start(t.One, "crossroads", nil)
			r.Claim(t.One, "look").Escalate("one")
			first := r.Item("look")
			r.Return(t.Boss, "look", "Look again.")
			t.RefusedWith("conflict", []string{"already_decided"}, t.Boss, "decide", decideArgs(first, "returned", Args{"note": "again"}))
			r.Work(t.One, "look")
			r.Work(t.Two, "look")
			c := r.Claim(t.Two, "look")
			c.NotAccepted([]string{"output.sign: missing"}, Args{"output": Args{}})
			c.Escalate("two")
			r.Return(t.Boss, "look", "And again.")
			r.Work(t.One, "look")
			r.Claim(t.One, "look").Submit()
			r.Get()
		},
	}, {
		ID: "escalate-completed", Clauses: []string{"spec §3.4", "tools decide", "spec §6.3"}, Needs: Needs{Fixtures: []string{"paper-trail"}, Tools: []string{"upload"}},
		Title: "A person completes an escalated step under the same acceptance as an agent",
		Run: func(t *T) {
			r := t.Start(t.One, "paper-trail", nil)
			r.Claim(t.One, "collect").Escalate("no scanner")
			refuse := func(issues []string, more Args) {
				t.RefusedWith("not_accepted", issues, t.Boss, "decide", with(r.completeArgs(t.Boss, "collect"), more))
			}
			refuse([]string{"output.pages: missing"}, Args{"output": Args{}})
			refuse([]string{"output.pages: expected number", "evidence: file required"}, Args{"output": Args{"pages": "1"}, "evidence": []any{Args{"kind": "link", "ref": "x"}}})
			refuse([]string{"evidence: file required", "evidence: link required"}, Args{"evidence": []any{}})
			refuse([]string{"next*", "reason*"}, Args{"next": "file-away", "reason": "why not"})
			r.step("collect").handoff = nil
			v := t.OK(t.One, "get_run", Args{"runId": r.ID})
			t.Equal("the state of the step", "waiting", stateOf(v, "collect"))
			r.step("collect").handoff = map[string]any{"issues": anything{}}
			if v.At("workItems.0.handoff").X == nil {
				r.step("collect").handoff = nil
			}
			r.Complete(t.Boss, "collect", Args{"summary": "Scanned them myself."})
			r.Get()
		},
	}, {
		ID: "escalate-failed", Clauses: []string{"spec §3.4", "spec §3.5", "tools decide"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "A person may end the run at an escalated step, and the note is kept",
		Run: func(t *T) {
			r := t.Start(t.One, "relay-race", Args{})
			r.Claim(t.One, "start").Submit()
			r.Claim(t.Two, "bend").Escalate("fell")
			r.FailStep(t.Boss, "bend", "The race is over: \"rain\".")
			r.Get()
		},
	}, {
		ID: "escalate-whose", Clauses: []string{"spec §6.4", "spec §3.3"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "Agents and people outside the assignment do not decide an escalation",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			r.Claim(t.One, "run").Escalate("who helps?")
			for _, a := range []*Actor{t.One, t.Two, t.Outsider} {
				t.Refused("forbidden", a, "decide", decideArgs(r.Item("run"), "returned", Args{"note": "no"}))
				t.Refused("forbidden", a, "decide", decideArgs(r.Item("run"), "failed", Args{"note": "no"}))
			}
			r.Get()
			r.Complete(t.Boss, "run")
		},
	}, {
		ID: "escalate-due", Clauses: []string{"spec §3.4", "tools decide"}, Needs: Needs{Fixtures: []string{"library-loan"}},
		Title: "The due clock of a returned step does not restart",
		Run: func(t *T) {
			r := t.Start(t.One, "library-loan", nil)
			r.Claim(t.One, "fetch").Escalate("not on the shelf")
			t.sleep(1500 * time.Millisecond)
			r.Return(t.Boss, "fetch", "behind it")
			r.Work(t.Two, "fetch")
			r.Claim(t.Two, "fetch").Submit()
		},
	}}
}
