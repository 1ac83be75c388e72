package conformance

import "strings"

func cancelChecks() []Check {
	return []Check{{
		ID: "cancel-operator", Clauses: []string{"tools cancel", "spec §3.5", "spec §4.1"}, Needs: Needs{Fixtures: []string{firstFixture, "relay-race"}},
		Title: "An operator cancels active and waiting runs with a reason; nobody else does",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			for _, a := range []*Actor{t.One, t.Two, t.Member, t.Outsider} {
				t.Refused("forbidden", a, "cancel", Args{"runId": r.ID, "reason": "because"})
			}
			t.Refused("invalid", t.Boss, "cancel", Args{"runId": r.ID})
			r.Get()
			r.Cancel("A reason with \"quotes\" and ünïcode.")
			r.Get()
			w := t.toVerdict()
			t.Equal("the state of a run that only waits", "waiting", w.Last.Str("run.state"))
			for range 2 {
				w.Reject(t.Member, "verdict", "again")
				w.Claim(t.Two, "bend").Submit()
				w.Claim(t.Two, "straight").Submit()
			}
			w.Cancel("not today")
			w.Get()
		},
	}, {
		ID: "cancel-cleans", Clauses: []string{"spec §3.5", "spec §6.2"}, Needs: Needs{Fixtures: []string{firstFixture, "relay-race"}},
		Title: "Cancelling removes work items and ready steps, and stops tokens",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			c := r.Claim(t.One, "run")
			r.Cancel("enough")
			t.RunEnded(t.One, "submit", Args{"token": c.Token, "output": Args{}, "summary": "done"})
			r.NoWork(t.One, "run")
			w := t.toVerdict()
			w.Cancel("enough")
			w.NoWork(t.Member, "verdict")
			w.Get()
		},
	}}
}

func endChecks() []Check {
	return []Check{{
		ID: "end-finish", Clauses: []string{"spec §3.2", "spec §3.5"}, Needs: Needs{Fixtures: []string{firstFixture, "crossroads"}},
		Title: "A finish ends the run with its outcome, by the server and without a note",
		Run: func(t *T) {
			r := t.Start(t.Member, firstFixture, nil)
			r.Claim(t.One, "run").Submit()
			v := r.Get()
			t.Match("run.ended", Args{"by": "server", "at": aTime{}, "note": nil}, v.At("run.ended"))
			t.Equal("the outcome", "home", v.Str("run.outcome"))
			o := t.Start(t.One, "crossroads", nil)
			o.Claim(t.One, "look").Submit(Args{"next": "west", "reason": "sea"})
			t.Equal("the outcome", "sea", o.Get().Str("run.outcome"))
		},
	}, {
		ID: "end-failed", Clauses: []string{"spec §3.5", "tools shared-shapes"}, Needs: Needs{Fixtures: []string{"spare-key", "relay-race"}},
		Title: "A failed decision ends the run: the step is failed, with note, by and at",
		Run: func(t *T) {
			r := t.Start(t.One, "spare-key", Args{"keeper": t.Member.Person})
			r.Claim(t.One, "carve").Submit()
			r.FailStep(t.Member, "keep", "There is no mat.")
			t.Equal("the state of the step", "failed", stateOf(r.Get(), "keep"))
			v := t.toVerdict()
			v.Reject(t.Member, "verdict", "again")
			v.Claim(t.One, "bend").Submit()
			v.Claim(t.One, "straight").Submit()
			v.FailStep(t.Member, "verdict", "No more races.")
			v.Get()
		},
	}, {
		ID: "end-writes", Clauses: []string{"spec §3.5", "tools submit", "tools cancel", "tools decide", "tools send_event"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "Once a run is over, every write to it is a conflict with run_ended, whatever else is wrong with it",
		Run: func(t *T) {
			for _, how := range []string{"cancelled", "failed", "rejected", "finished"} {
				r := t.Start(t.One, "relay-race", Args{})
				first := r.Claim(t.One, "start")
				first.Submit()
				held := r.Claim(t.Two, "bend")
				if how == "cancelled" {
					r.Cancel("over")
				} else {
					held.Submit()
					held = r.Claim(t.Two, "straight")
					held.Submit()
					item := r.Item("verdict")
					if how == "failed" {
						r.FailStep(t.Member, "verdict", "over")
					} else {
						r.Approve(t.Member, "verdict", "")
						if how == "rejected" {
							r.Reject(t.Member, "protest", "over")
						} else {
							r.Approve(t.Member, "protest", "")
						}
					}
					for _, a := range []*Actor{t.Member, t.Outsider, t.One} {
						t.RunEnded(a, "decide", decideArgs(item, "approved"))
						t.RunEnded(a, "decide", decideArgs(item, "completed", Args{"output": Args{"no": "such"}}))
					}
				}
				for _, c := range []*Claim{first, held} {
					t.RunEnded(c.as, "submit", Args{"token": c.Token, "output": Args{}, "summary": "late"})
					t.RunEnded(c.as, "submit", Args{"token": c.Token, "output": Args{"no": "such"}, "summary": "late", "next": "x"})
					t.RunEnded(c.as, "escalate", Args{"token": c.Token, "note": "late"})
					if t.offers("renew") {
						t.RunEnded(c.as, "renew", Args{"token": c.Token})
					}
				}
				t.RunEnded(t.One, "claim", Args{"runId": r.ID, "stepId": "bend"})
				t.RunEnded(t.Two, "claim", Args{"runId": r.ID, "stepId": "verdict"})
				t.RunEnded(t.Boss, "cancel", Args{"runId": r.ID, "reason": "late"})
				if t.offers("send_event") {
					t.RunEnded(t.One, "send_event", Args{"runId": r.ID, "name": "late"})
					t.RunEnded(t.Boss, "send_event", Args{"runId": r.ID, "name": "late"})
				}
				r.NoWork(t.One, "bend")
				r.NoWork(t.Member, "verdict")
				r.Get()
			}
		},
	}, {
		ID: "end-before-forbidden", Clauses: []string{"spec §3.5"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "run_ended is checked before anything else: also for callers who could not have written, and steps that never were",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			c := r.Claim(t.One, "run")
			r.Cancel("over")
			t.RunEnded(t.Member, "cancel", Args{"runId": r.ID, "reason": "late"})
			t.RunEnded(t.One, "cancel", Args{"runId": r.ID, "reason": "late"})
			t.RunEnded(t.One, "claim", Args{"runId": r.ID, "stepId": "no-such-step"})
			t.RunEnded(t.Member, "claim", Args{"runId": r.ID, "stepId": "run"})
			t.RunEnded(t.Two, "submit", Args{"token": c.Token, "output": Args{}, "summary": "not mine"})
			if t.offers("send_event") {
				t.RunEnded(t.Outsider, "send_event", Args{"runId": r.ID, "name": "late"})
			}
		},
	}, {
		ID: "end-replay", Clauses: []string{"spec §3.5", "spec §4"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "After the end a replay still has its original result",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil, Args{"requestId": t.Check.ID + newID()})
			claim := Args{"runId": r.ID, "stepId": "run", "requestId": newID()}
			before := t.OK(t.One, "claim", claim)
			r.step("run").state = "claimed"
			submit := Args{"token": before.Str("token"), "output": Args{}, "summary": "done", "requestId": newID()}
			done := t.OK(t.One, "submit", submit)
			r.submitted("run", t.One, submit)
			r.see("submit", done)
			t.Equal("the claim sent again", before.X, t.OK(t.One, "claim", claim).X)
			t.Equal("the submission sent again", done.X, t.OK(t.One, "submit", submit).X)
			o := t.Start(t.One, firstFixture, nil)
			cancel := Args{"runId": o.ID, "reason": "x", "requestId": newID()}
			gone := t.OK(t.Boss, "cancel", cancel)
			t.Equal("the cancellation sent again", gone.X, t.OK(t.Boss, "cancel", cancel).X)
		},
	}}
}

func eventChecks() []Check {
	needs := Needs{Fixtures: []string{"bell-tower"}, Tools: []string{"send_event"}}
	return []Check{{
		ID: "event-consumed", Clauses: []string{"tools send_event", "spec §3.6", "spec §3.1"}, Needs: needs,
		Title: "An event completes the step that waits for it, with its data as output and its sender as by",
		Run: func(t *T) {
			r := t.Start(t.One, "bell-tower", nil)
			r.Event(t.Two, "bell", t.sample(t.fixture("every-shape").Process.Inputs, 1))
			r.Claim(t.One, "climb").Submit()
			r.Event(t.Boss, "bell", nil)
			r.Event(t.One, "gong", Args{})
		},
	}, {
		ID: "event-held", Clauses: []string{"tools send_event", "spec §3.6"}, Needs: needs,
		Title: "Events that come early are held, oldest first; each serves one wait",
		Run: func(t *T) {
			r := t.Start(t.One, "bell-tower", nil)
			r.Event(t.One, "gong", Args{"n": 0})
			r.Event(t.One, "bell", Args{"n": 1})
			r.Event(t.Two, "bell", Args{"n": 2})
			r.Event(t.One, "bell", Args{"n": 3})
			v := r.Claim(t.One, "climb").Submit()
			t.Equal("the data of the second stroke", Args{"n": 2}, v.At("data.steps.second-stroke.output"))
			t.Equal("the outcome", "quiet", v.Str("run.outcome"))
		},
	}, {
		ID: "event-names", Clauses: []string{"spec §3.6"}, Needs: needs,
		Title: "Names compare exactly, and an event for no wait is held without effect",
		Run: func(t *T) {
			r := t.Start(t.One, "bell-tower", nil)
			for _, name := range []string{"bell-", "bel", "bell_", "belle", "first-stroke", "b-ell"} {
				r.Event(t.One, name, Args{"x": name})
			}
			r.Event(t.One, "bell", Args{"right": true})
			r.Claim(t.Two, "climb").Submit()
			t.Equal("the state", "waiting", r.Get().Str("run.state"))
		},
	}, {
		ID: "event-senders", Clauses: []string{"tools send_event", "spec §3.6"}, Needs: needs,
		Title: "Agents and operators send events; other people are forbidden",
		Run: func(t *T) {
			r := t.Start(t.Member, "bell-tower", nil)
			for _, a := range []*Actor{t.Member, t.Colleague, t.Outsider} {
				t.Refused("forbidden", a, "send_event", Args{"runId": r.ID, "name": "bell"})
			}
			r.Get()
			r.Event(t.Boss, "bell", Args{"by": "operator"})
			t.Refused("not_found", t.One, "send_event", Args{"runId": "r_none", "name": "bell"})
		},
	}, {
		ID: "event-cap", Clauses: []string{"spec §6.3"}, Needs: needs,
		Title: "limits.runDataBytes bounds the data of an event",
		Run: func(t *T) {
			r := t.Start(t.One, "bell-tower", nil)
			over := Args{"x": t.overCap()}
			codes := []string{"invalid", "not_accepted"}
			t.RefusedAs(codes, t.One, "send_event", Args{"runId": r.ID, "name": "bell", "data": over})
			t.RefusedAs(codes, t.One, "send_event", Args{"runId": r.ID, "name": "gong", "data": over})
			r.Get()
			r.Event(t.One, "bell", Args{"x": strings.Repeat("y", 1000)})
		},
	}}
}

func waitChecks() []Check {
	past := "2020-06-21T04:50:00+02:00"
	return []Check{{
		ID: "wait-until-past", Clauses: []string{"spec §2.2", "spec §3.1"}, Needs: Needs{Fixtures: []string{"sunrise-walk"}},
		Title: "wait_until a time already past continues at once, by the server, in the same write",
		Run: func(t *T) {
			r := t.Start(t.One, "sunrise-walk", Args{"sunrise": past})
			r.Claim(t.One, "walk").Submit(Args{"output": Args{"turned": past}})
			r.Get()
		},
	}, {
		ID: "wait-until-future", Clauses: []string{"spec §2.2", "spec §3.5"}, Needs: Needs{Fixtures: []string{"sunrise-walk"}},
		Title: "wait_until a time to come waits, and a run that only waits is waiting",
		Run: func(t *T) {
			r := t.Start(t.One, "sunrise-walk", Args{"sunrise": "2099-01-01T00:00:00Z"})
			t.Equal("the state of the run", "waiting", r.Get().Str("run.state"))
			t.RefusedWith("conflict", []string{"not_ready"}, t.One, "claim", Args{"runId": r.ID, "stepId": "walk"})
			r.Cancel("too long")
		},
	}, {
		ID: "wait-until-soon", Clauses: []string{"spec §2.2"}, Needs: Needs{Fixtures: []string{"sunrise-walk"}},
		Title: "wait_until continues when its moment has come, and not before",
		Run: func(t *T) {
			at := t.serverNow().Add(3 * second).UTC().Format("2006-01-02T15:04:05Z07:00")
			r := t.Start(t.One, "sunrise-walk", Args{"sunrise": at})
			t.poll(3*second, "the end of wait_until", func() bool { return stateOf(r.raw(), "darkness") == "done" })
			r.m.pass(r.step("darkness"))
			v := r.Get()
			done, _ := when(v.Str("data.steps.darkness.at"))
			moment, _ := when(at)
			t.True(!done.Before(moment), "wait_until %s ended at %s", at, v.Str("data.steps.darkness.at"))
			r.Claim(t.One, "walk").Submit(Args{"output": Args{"turned": past}})
		},
	}, {
		ID: "wait-until-missing", Clauses: []string{"spec §2.2", "spec §3.5"}, Needs: Needs{Fixtures: []string{"sunrise-walk"}},
		Title: "wait_until on a value that is missing fails the run, by the server and with a note",
		Run: func(t *T) {
			t.Start(t.One, "sunrise-walk", Args{}).Get()
			r := t.Start(t.One, "sunrise-walk", Args{"sunrise": past})
			r.Claim(t.One, "walk").Submit(Args{"output": Args{}})
			r.Get()
		},
	}, {
		ID: "person-missing", Clauses: []string{"spec §3.4", "spec §3.5"}, Needs: Needs{Fixtures: []string{"spare-key"}},
		Title: "A person path that resolves to nothing fails the run, by the server and with a note",
		Run: func(t *T) {
			r := t.Start(t.One, "spare-key", Args{})
			r.Claim(t.One, "carve").Submit()
			r.Get()
		},
	}, {
		ID: "wait-for-timeout", Clauses: []string{"spec §2.2", "spec §6.1"}, Needs: Needs{Fixtures: []string{"door-chime"}, Slow: true},
		Title: "When the timeout of a wait_for passes, the run goes on at on_timeout",
		Run: func(t *T) {
			r := t.Start(t.One, "door-chime", nil)
			r.await(r.step("listen"))
			r.Event(t.One, "chime", Args{"too": "late"})
			r.Claim(t.One, "leave").Submit()
		},
	}, {
		ID: "wait-for-in-time", Clauses: []string{"spec §2.2"}, Needs: Needs{Fixtures: []string{"door-chime"}, Tools: []string{"send_event"}},
		Title: "An event before the timeout takes the ordinary way",
		Run: func(t *T) {
			r := t.Start(t.One, "door-chime", nil)
			r.Event(t.One, "chime", Args{"who": "me"})
		},
	}, {
		ID: "overdue", Clauses: []string{"spec §2.2", "tools get_work"}, Needs: Needs{Fixtures: []string{"library-loan"}, Slow: true},
		Title: "What is due and not done is overdue, stays open, and is said to be so in the run view and in get_work",
		Run: func(t *T) {
			r := t.Start(t.One, "library-loan", nil)
			late := func(step string) {
				r.t.poll(minute, step+" being overdue", func() bool {
					for _, s := range r.raw().List("steps") {
						if s.Str("id") == step {
							return s.At("overdue").X == true
						}
					}
					return false
				})
				t.True(t.serverNow().After(r.step(step).due.Add(-second)), "step %s is overdue before it is due", step)
				r.step(step).overdue = true
				r.Get()
			}
			late("fetch")
			r.Work(t.One, "fetch")
			r.Claim(t.Two, "fetch").Submit()
			late("look-over")
			r.Work(t.Member, "look-over")
			r.Complete(t.Member, "look-over")
		},
	}}
}
