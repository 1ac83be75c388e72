package conformance

import "slices"

func workChecks() []Check {
	return []Check{{
		ID: "work-agent-order", Clauses: []string{"tools get_work", "spec §4.1"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "get_work lists ready steps by readySince, oldest first",
		Run: func(t *T) {
			var ids []string
			for range 4 {
				ids = append(ids, t.Start(t.One, firstFixture, nil).ID)
			}
			t.orderedWork(t.One, ids, func(item V) string { return item.Str("runId") })
		},
	}, {
		ID: "work-person-order", Clauses: []string{"tools get_work", "spec §3.4"}, Needs: Needs{Fixtures: []string{"spare-key"}},
		Title: "get_work lists a person's work items, oldest first",
		Run: func(t *T) {
			var ids []string
			for range 4 {
				r := t.Start(t.One, "spare-key", Args{"keeper": t.Outsider.Person})
				r.Claim(t.One, "carve").Submit()
				ids = append(ids, r.ID)
			}
			t.orderedWork(t.Outsider, ids, func(item V) string { return item.Str("runId") })
		},
	}, {
		ID: "work-pages", Clauses: []string{"tools get_work"}, Needs: Needs{Fixtures: []string{"sunrise-walk", "lease-agreement", firstFixture, "spare-key"}},
		Title: "get_work gives at most limit items a page, each of the process asked for, and every item once",
		Run: func(t *T) {
			t.Start(t.One, firstFixture, nil)
			t.Start(t.One, "spare-key", Args{"keeper": t.Member.Person}).Claim(t.One, "carve").Submit()
			past := "2020-06-21T04:50:00+02:00"
			for range 5 {
				t.Start(t.One, "sunrise-walk", Args{"sunrise": past})
				t.Start(t.One, "lease-agreement", nil)
			}
			for _, as := range []*Actor{t.One, t.Member} {
				name := map[string]string{"": "sunrise-walk"}[as.Person]
				if name == "" {
					name = "lease-agreement"
				}
				for _, limit := range []int{1, 3} {
					seen := map[string]bool{}
					args := Args{"process": name, "limit": limit}
					full := 0
					for range 40 {
						page := t.OK(as, "get_work", args)
						items := page.List("items")
						t.True(len(items) <= limit, "a page of %d has %d items", limit, len(items))
						for _, item := range items {
							t.True(!seen[item.Str("runId")], "run %s is listed twice", item.Str("runId"))
							seen[item.Str("runId")] = true
							t.Equal("process", name, item.Str("process"))
						}
						if len(items) == limit {
							full++
						}
						if page.Str("nextCursor") == "" {
							break
						}
						args["cursor"] = page.Str("nextCursor")
					}
					t.True(full >= 5/limit, "only %d full pages of %d", full, limit)
					for id := range t.openRuns() {
						if v := t.OK(t.One, "get_run", Args{"runId": id}); v.Str("run.process") == name {
							t.True(seen[id], "run %s is on no page", id)
						}
					}
				}
			}
		},
	}, {
		ID: "work-default-limit", Clauses: []string{"tools get_work"}, Needs: Needs{Fixtures: []string{"complaint-handling"}},
		Title: "Without a limit, a page of get_work has twenty items",
		Run: func(t *T) {
			t.Together(22, func(int) {
				t.OK(t.One, "start_run", Args{"process": "complaint-handling", "inputs": Args{"complaint": "x", "severity": "minor"}})
			})
			page := t.OK(t.Two, "get_work", Args{"process": "complaint-handling"})
			t.Equal("the items of a page", 20, len(page.List("items")))
			t.True(page.Str("nextCursor") != "", "there is no nextCursor, with 22 items")
		},
	}, {
		ID: "work-calls", Clauses: []string{"tools get_work", "spec §3.3", "spec §3.4"}, Needs: Needs{Fixtures: []string{"crossroads"}},
		Title: "The calls that get_work gives are those to make: only requestId is filled in, and the decision added",
		Run: func(t *T) {
			r := t.Start(t.One, "crossroads", nil)
			call := r.Work(t.Two, "look").At("claim")
			args, _ := call.At("arguments").X.(Args)
			token := t.OK(t.Two, call.Str("tool"), with(args, Args{"requestId": newID()})).Str("token")
			submit := Args{"token": token, "output": Args{"sign": "?"}, "summary": "Cannot read it.", "next": "ask", "reason": "It is too old."}
			v := t.OK(t.Two, "submit", submit)
			r.submitted("look", t.Two, submit)
			r.see("submit", v)
			item := r.Work(t.Colleague, "ask").At("workItem.decide")
			args, _ = item.At("arguments").X.(Args)
			decide := with(args, Args{"requestId": newID(), "decision": "completed", "output": Args{}, "next": "east", "reason": "Hills.",
				"evidence": []any{Args{"kind": "link", "ref": "map 7"}}})
			v = t.OK(t.Colleague, item.Str("tool"), decide)
			r.submitted("ask", t.Colleague, decide)
			r.see("decide", v)
		},
	}, {
		ID: "work-whose", Clauses: []string{"tools get_work", "spec §3.4", "tools shared-shapes"}, Needs: Needs{Fixtures: []string{"new-colleague", "crossroads"}},
		Title: "get_work lists what the caller may do and nothing else: agents steps, groups their items, persons their own",
		Run: func(t *T) {
			r := t.Start(t.One, "crossroads", nil)
			r.Work(t.One, "look")
			r.Work(t.Two, "look")
			for _, a := range t.humans {
				r.NoWork(a, "look")
			}
			r.Claim(t.One, "look").Submit()
			r.Work(t.Member, "ask")
			r.Work(t.Colleague, "ask")
			for _, a := range []*Actor{t.Outsider, t.One, t.Two} {
				r.NoWork(a, "ask")
			}
			n := t.Start(t.One, "new-colleague", Args{"newcomer": t.Outsider.Person, "lead": t.Colleague.Person})
			n.Claim(t.Two, "accounts").Submit()
			n.Work(t.Colleague, "welcome")
			n.NoWork(t.Member, "welcome")
			n.NoWork(t.Outsider, "welcome")
			n.Complete(t.Colleague, "welcome", Args{"output": Args{"buddy": t.Member.Person}})
			n.Work(t.Member, "first-day")
			n.NoWork(t.Colleague, "first-day")
			n.Complete(t.Member, "first-day")
			n.Work(t.Outsider, "settled")
			n.Approve(t.Outsider, "settled", "")
		},
	}, {
		ID: "work-claimed", Clauses: []string{"tools get_work", "spec §6.2"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "A claimed, done or cancelled step is in nobody's get_work",
		Run: func(t *T) {
			r := t.Start(t.One, firstFixture, nil)
			c := r.Claim(t.One, "run")
			r.NoWork(t.One, "run")
			r.NoWork(t.Two, "run")
			c.Submit()
			r.NoWork(t.One, "run")
			o := t.Start(t.One, firstFixture, nil)
			o.Cancel("gone")
			o.NoWork(t.Two, "run")
		},
	}}
}

func (t *T) openRuns() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string]bool{}
	for id, open := range t.runs {
		if open {
			out[id] = true
		}
	}
	return out
}

// orderedWork: the caller's whole list is in order, and these come in theirs.
func (t *T) orderedWork(as *Actor, ids []string, key func(V) string) {
	var got []string
	var last string
	for _, item := range t.allWork(as, "") {
		if slices.Contains(ids, key(item)) {
			got = append(got, key(item))
		}
		since := item.Str("readySince")
		if since == "" {
			continue
		}
		a, _ := when(last)
		b, _ := when(since)
		t.True(last == "" || !b.Before(a), "get_work lists readySince %s after %s", since, last)
		last = since
	}
	t.Equal("the order of get_work", ids, got)
}
