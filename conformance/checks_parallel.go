package conformance

func parallelChecks() []Check {
	needs := Needs{Fixtures: []string{"twin-desks", "three-rooms"}, Profiles: []string{"parallel-1"}}
	rooms := Needs{Fixtures: needs.Fixtures, Profiles: needs.Profiles, Tools: []string{"send_event"}}
	return []Check{{
		ID: "parallel-fork", Clauses: []string{"parallel §3", "parallel §4"}, Needs: needs,
		Title: "The fork makes every branch ready in one write, and the parallel step waits and records nothing",
		Run: func(t *T) {
			r := t.Start(t.One, "twin-desks", nil)
			t.Equal("the state of the parallel step", "waiting", stateOf(r.Last, "open"))
			r.Work(t.One, "left")
			r.Work(t.Two, "right")
			r.Get()
		},
	}, {
		ID: "parallel-join", Clauses: []string{"parallel §3"}, Needs: needs,
		Title: "The last branch to join makes the next step ready in one write, in whatever order they come",
		Run: func(t *T) {
			for _, order := range [][]string{{"left", "left-stamp", "right"}, {"right", "left", "left-stamp"}, {"left", "right", "left-stamp"}} {
				r := t.Start(t.One, "twin-desks", nil)
				for _, step := range order {
					r.Claim(t.One, step).Submit()
				}
				r.Approve(t.Member, "sign", "")
				r.Get()
			}
		},
	}, {
		ID: "parallel-claims", Clauses: []string{"parallel §3", "spec §6.2"}, Needs: needs,
		Title: "Branches are claimed independently, by one agent or two",
		Run: func(t *T) {
			r := t.Start(t.One, "twin-desks", nil)
			left, right := r.Claim(t.One, "left"), r.Claim(t.One, "right")
			r.Get()
			t.RefusedWith("conflict", []string{"claimed_by_other"}, t.Two, "claim", Args{"runId": r.ID, "stepId": "left"})
			t.Refused("not_accepted", t.One, "submit", right.args(Args{"output": Args{}}))
			r.step("right").addHandoff("issues", anything{})
			right.Escalate("no ink")
			left.Submit()
			r.Return(t.Boss, "right", "in the drawer")
			t.stale(right)
			r.Claim(t.Two, "right").Submit()
			r.Claim(t.Two, "left-stamp").Submit()
			r.Get()
		},
	}, {
		ID: "parallel-race", Clauses: []string{"parallel §3", "spec §6"}, Needs: needs,
		Title: "The last steps of two branches submitted at once both count, and the join happens once",
		Run: func(t *T) {
			for range 3 {
				r := t.Start(t.One, "twin-desks", nil)
				r.Claim(t.One, "left").Submit()
				claims := []*Claim{r.Claim(t.One, "left-stamp"), r.Claim(t.Two, "right")}
				args := []Args{claims[0].args(), claims[1].args()}
				views := make([]V, 2)
				t.Together(2, func(i int) { views[i] = t.OK(claims[i].as, "submit", args[i]) })
				for i, c := range claims {
					r.submitted(c.step, c.as, args[i])
				}
				r.Get()
				t.True((stateOf(views[0], "sign") == "waiting") != (stateOf(views[1], "sign") == "waiting"), "the approval after the join became ready in %v and %v",
					stateOf(views[0], "sign"), stateOf(views[1], "sign"))
			}
		},
	}, {
		ID: "parallel-stale", Clauses: []string{"parallel §3", "spec §3.4"}, Needs: rooms,
		Title: "Each completion of a sibling makes open snapshots stale; a fresh read serves again",
		Run: func(t *T) {
			r := t.rooms()
			old := r.Item("hall")
			r.Claim(t.One, "kitchen").Submit()
			t.Refused("stale", t.Member, "decide", decideArgs(old, "completed", Args{"output": Args{}}))
			t.True(old.Str("snapshot") != r.Item("hall").Str("snapshot"), "the snapshot is the same after a sibling completed")
			second := r.Item("hall")
			r.Event(t.One, "dust-settled", Args{"dust": 0})
			t.Refused("stale", t.Member, "decide", decideArgs(second, "completed", Args{"output": Args{}}))
			r.Complete(t.Member, "hall")
			r.Approve(t.Colleague, "inspect", "")
			r.Approve(t.Colleague, "hall-choice", "")
			r.Approve(t.Colleague, "lock", "")
			r.Get()
		},
	}, {
		ID: "parallel-rework-inside", Clauses: []string{"parallel §3", "parallel §2"}, Needs: rooms,
		Title: "A rejection inside a branch sends that branch back and touches no sibling",
		Run: func(t *T) {
			r := t.rooms()
			r.Claim(t.One, "kitchen").Submit()
			r.Complete(t.Member, "hall")
			r.Event(t.One, "dust-settled", nil)
			r.Reject(t.Member, "inspect", "crumbs")
			t.Equal("the state of the hall", "done", stateOf(r.Last, "hall"))
			t.Equal("the handoff of a fresh attempt", nil, r.Work(t.Two, "kitchen").At("handoff"))
			r.Claim(t.Two, "kitchen").Submit()
			r.Approve(t.Member, "inspect", "no crumbs")
			r.Approve(t.Member, "hall-choice", "")
			r.Approve(t.Member, "lock", "")
		},
	}, {
		ID: "parallel-rework-region", Clauses: []string{"parallel §3", "spec §3.1"}, Needs: needs,
		Title: "A rejection after the join to the parallel step runs every branch again, with a fresh due",
		Run: func(t *T) {
			r := t.Start(t.One, "twin-desks", nil)
			for i := range 2 {
				for _, step := range []string{"left", "left-stamp", "right"} {
					r.Claim(t.One, step).Submit(Args{"output": r.output(step, i)})
				}
				first := r.step("right").due
				t.sleep(20 * 1e6)
				r.Reject(t.Member, "sign", "both again")
				t.True(r.step("right").due.After(first), "the due of a branch that runs again was not set anew")
				r.Get()
			}
			for _, step := range []string{"right", "left", "left-stamp"} {
				r.Claim(t.Two, step).Submit()
			}
			r.Approve(t.Colleague, "sign", "")
		},
	}, {
		ID: "parallel-rework-before", Clauses: []string{"parallel §2", "spec §3.1"}, Needs: rooms,
		Title: "A rejection after the join may go back before the fork",
		Run: func(t *T) {
			r := t.rooms()
			r.Claim(t.One, "kitchen").Submit()
			r.Approve(t.Member, "inspect", "")
			r.Complete(t.Member, "hall")
			r.Approve(t.Member, "hall-choice", "")
			r.Event(t.One, "dust-settled", Args{})
			r.Reject(t.Member, "lock", "everything again")
			r.Get()
			r.Claim(t.Two, "unlock").Submit()
			r.Event(t.One, "dust-settled", Args{"again": true})
			r.Get()
		},
	}, {
		ID: "parallel-end", Clauses: []string{"parallel §3", "spec §3.5"}, Needs: rooms,
		Title: "What ends the run in one branch cancels the others, their items and their tokens",
		Run: func(t *T) {
			r := t.rooms()
			late := r.Claim(t.One, "kitchen").args()
			r.FailStep(t.Member, "hall", "no shoes")
			r.Get()
			t.RunEnded(t.One, "submit", late)
			r.NoWork(t.One, "kitchen")
			e := t.rooms()
			later := e.Claim(t.One, "kitchen").args()
			e.Complete(t.Member, "hall")
			e.Reject(t.Member, "hall-choice", "never")
			t.Equal("the outcome", "rejected", e.Last.Str("run.outcome"))
			t.RunEnded(t.One, "submit", later)
			t.RunEnded(t.One, "send_event", Args{"runId": e.ID, "name": "dust-settled"})
		},
	}, {
		ID: "parallel-state", Clauses: []string{"parallel §3", "spec §3.5"}, Needs: rooms,
		Title: "A run is waiting when every unfinished branch waits, and active when one does not",
		Run: func(t *T) {
			r := t.rooms()
			t.Equal("the state with a ready branch", "active", r.Last.Str("run.state"))
			r.Claim(t.One, "kitchen").Submit()
			t.Equal("the state with waiting branches", "waiting", r.Get().Str("run.state"))
			r.Reject(t.Member, "inspect", "again")
			t.Equal("the state with a ready branch", "active", r.Get().Str("run.state"))
		},
	}}
}

// rooms starts three-rooms up to the fork.
func (t *T) rooms() *Run {
	r := t.Start(t.One, "three-rooms", Args{"guest": t.Member.Person})
	r.Claim(t.One, "unlock").Submit()
	return r
}
