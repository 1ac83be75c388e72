package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
)

func startChecks() []Check {
	every := Needs{Fixtures: []string{"every-shape"}}
	return []Check{{
		ID: "start-lists-every-issue", Clauses: []string{"tools start_run", "spec §2.3", "spec §4.3"}, Needs: every,
		Title: "start_run refuses undeclared, missing and mistyped inputs as invalid, all at once",
		Run: func(t *T) {
			good := t.sample(t.fixture("every-shape").Process.Inputs, 1)
			bad := with(without(good, "word"), Args{"amount": "12", "stranger": 1, "yes": "yes", "size": "medium"})
			t.RefusedWith("invalid", []string{"inputs.word*", "inputs.amount*", "inputs.stranger*", "inputs.yes*", "inputs.size*"}, t.One, "start_run", Args{"process": "every-shape", "inputs": bad})
			t.RefusedAs([]string{"invalid"}, t.One, "start_run", Args{"process": "every-shape", "inputs": Args{}})
			t.RefusedAs([]string{"invalid"}, t.One, "start_run", Args{"process": "single-errand", "inputs": Args{"x": 1}})
		},
	}, {
		ID: "start-types", Clauses: []string{"spec §2.3", "tools start_run"}, Needs: every,
		Title: "An input has its declared type, its one_of and nothing else; null is no value",
		Run: func(t *T) {
			good := t.sample(t.fixture("every-shape").Process.Inputs, 1)
			for _, c := range wrongValues {
				args := Args{"process": "every-shape", "inputs": with(good, Args{c.field: c.value})}
				r := t.Refused("invalid", t.One, "start_run", args)
				t.sameIssues("start_run with "+c.field+" "+short(norm(c.value)), []string{"inputs." + c.field + "*"}, r.Issues)
			}
			for _, c := range t.rightValues() {
				t.Start(t.One, "every-shape", with(good, Args{c.field: c.value})).Cancel("enough")
			}
		},
	}, {
		ID: "start-optional", Clauses: []string{"spec §2.3"}, Needs: every,
		Title: "An optional input may be left out, and a required one may not",
		Run: func(t *T) {
			fields := t.fixture("every-shape").Process.Inputs
			good := t.sample(fields, 1)
			t.Start(t.One, "every-shape", good)
			for i := range fields {
				if !fields[i].Optional {
					name := fields[i].Name
					t.RefusedWith("invalid", []string{"inputs." + name + "*"}, t.One, "start_run", Args{"process": "every-shape", "inputs": without(good, name)})
				}
			}
		},
	}, {
		ID: "start-unknown", Clauses: []string{"tools start_run", "spec §4.3"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "A process or version that is not there is not_found",
		Run: func(t *T) {
			t.Refused("not_found", t.One, "start_run", Args{"process": "nobody-published-this", "inputs": Args{}})
			t.Refused("not_found", t.One, "start_run", Args{"process": firstFixture, "version": 1000000, "inputs": Args{}})
		},
	}, {
		ID: "start-version", Clauses: []string{"tools start_run"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "The version may be named, and defaults to the latest",
		Run: func(t *T) {
			latest := t.published[firstFixture].At("version").X
			t.Start(t.One, firstFixture, nil)
			t.Start(t.One, firstFixture, nil, Args{"version": latest})
		},
	}, {
		ID: "start-by-people", Clauses: []string{"spec §4.1"}, Needs: Needs{Fixtures: []string{firstFixture}},
		Title: "Agents and people start runs, and are named as who did",
		Run: func(t *T) {
			ids := map[string]bool{}
			for _, a := range t.everyone {
				r := t.Start(a, firstFixture, nil)
				ids[r.Last.Str("run.startedBy")] = true
				t.True(r.Last.Str("run.startedBy") != "server", "startedBy is server")
			}
			t.True(len(ids) == len(t.everyone), "startedBy has %d values for %d callers", len(ids), len(t.everyone))
		},
	}, {
		ID: "start-initiator", Clauses: []string{"tools start_run", "spec §3.4"}, Needs: Needs{Fixtures: []string{"travel-refund"}},
		Title: "An agent cannot start a process with a step for its initiator; a person can, and is asked",
		Run: func(t *T) {
			inputs := Args{"trip": "Rome", "approver": t.Colleague.Person}
			t.Refused("invalid", t.One, "start_run", Args{"process": "travel-refund", "inputs": inputs})
			r := t.Start(t.Outsider, "travel-refund", inputs)
			r.Work(t.Outsider, "claim-costs")
			r.NoWork(t.Member, "claim-costs")
			r.Complete(t.Outsider, "claim-costs")
			r.Work(t.Colleague, "agree")
			r.NoWork(t.Outsider, "agree")
		},
	}, {
		ID: "start-test-mode", Clauses: []string{"spec §3.3", "tools shared-shapes", "tools get_work"}, Needs: Needs{Fixtures: []string{"crossroads"}},
		Title: "A test run says so in get_work, in the claim and in every work item; a live one says live",
		Run: func(t *T) {
			for _, mode := range []string{"test", "live"} {
				r := t.Start(t.One, "crossroads", nil, Args{"mode": mode})
				t.Equal("mode in get_work", mode, r.Work(t.One, "look").Str("mode"))
				c := r.Claim(t.One, "look")
				t.Equal("mode in claim", mode, c.View.Str("mode"))
				c.Submit()
				item := r.Work(t.Member, "ask")
				t.Equal("mode in get_work of a person", mode, item.Str("mode"))
				if mode == "test" {
					t.Equal("mode in a work item", mode, r.Item("ask").Str("mode"))
				}
			}
			t.Equal("the default mode", "live", t.Start(t.One, "crossroads", nil).Last.Str("run.mode"))
		},
	}, {
		ID: "start-cap", Clauses: []string{"spec §6.3"}, Needs: every,
		Title: "limits.runDataBytes bounds the inputs of a run",
		Run: func(t *T) {
			over := t.overCap()
			good := t.sample(t.fixture("every-shape").Process.Inputs, 1)
			t.RefusedAs([]string{"invalid", "not_accepted"}, t.One, "start_run", Args{"process": "every-shape", "inputs": with(good, Args{"word": over})})
			t.Start(t.One, "every-shape", with(good, Args{"word": t.underCap()})).Cancel("enough")
		},
	}, {
		ID: "times-move", Clauses: []string{"tools shared-shapes", "spec §3.1", "spec §3.5"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "startedAt, at, updatedAt and ended say when: each moves on with what it is about",
		Run: func(t *T) {
			r := t.Start(t.One, "relay-race", Args{})
			started, _ := when(r.Last.Str("run.startedAt"))
			t.sleep(1100 * 1e6)
			r.Claim(t.One, "start").Submit()
			at, _ := when(r.Last.Str("data.steps.start.at"))
			updated, _ := when(r.Last.Str("run.updatedAt"))
			t.True(at.Sub(started) > second, "a step that was completed more than a second after the start says %s, and the start %s", at, started)
			t.True(updated.Sub(started) > second, "updatedAt stays at %s after a write", updated)
			r.Work(t.Two, "bend")
			t.True(r.step("bend").since.Sub(started) > second, "readySince of a step that became ready a second later is %s", r.step("bend").since)
			t.sleep(1100 * 1e6)
			r.Work(t.Two, "bend") // and it stays as it was
			r.Cancel("late")
			ended, _ := when(r.Last.Str("run.ended.at"))
			t.True(ended.Sub(at) > second, "run.ended.at is %s, a second after %s", ended, at)
		},
	}, {
		ID: "bearer-needed", Clauses: []string{"spec §4"},
		Title: "Without a bearer token that the server knows, nothing is answered",
		Run: func(t *T) {
			for _, token := range []string{"", "nobody", t.One.wire.token + "x"} {
				w, err := dial(t.ctx, t.One.wire.http.Transport, t.One.wire.url, token)
				if err != nil {
					continue
				}
				answer, err := w.call(t.ctx, "describe", []byte("{}"))
				if err != nil {
					continue
				}
				res, err := readResult(answer)
				t.True(err != nil || !res.OK, "describe was answered without a good token: %s", answer)
			}
		},
	}}
}

// underCap is a text that fits into limits.runDataBytes, with room for the rest.
func (t *T) underCap() string {
	return strings.Repeat("y", int(t.Describe.Int("limits.runDataBytes"))*4/5)
}

// overCap is a text over limits.runDataBytes, where describe has that.
func (t *T) overCap() string {
	most := t.Describe.Int("limits.runDataBytes")
	if most <= 0 || most > 8<<20 {
		t.Skip("describe shows no limits.runDataBytes, or one of more than 8 MiB")
	}
	return strings.Repeat("x", int(most)+1)
}

// fieldValue is a value for a field of every-shape.
type fieldValue struct {
	field string
	value any
}

// wrongValues break the type of a field of every-shape (spec §2.3).
var wrongValues = []fieldValue{
	{"word", 1}, {"word", nil}, {"word", true}, {"word", []any{"x"}}, {"word", Args{}},
	{"amount", "1"}, {"amount", nil}, {"amount", false}, {"amount", []any{1}},
	{"yes", "true"}, {"yes", 1}, {"yes", nil}, {"yes", "yes"},
	{"day", "2026-02-29"}, {"day", "2026-13-01"}, {"day", "2026-1-1"}, {"day", "2026-01-01T00:00:00Z"}, {"day", ""}, {"day", 20260101}, {"day", "01/02/2026"},
	{"moment", "2026-01-02T03:04:05"}, {"moment", "2026-01-02"}, {"moment", "2026-02-30T00:00:00Z"}, {"moment", "yesterday"}, {"moment", 0}, {"moment", "2026-01-02T25:00:00Z"},
	{"things", "a,b"}, {"things", Args{}}, {"things", nil},
	{"box", []any{}}, {"box", "{}"}, {"box", nil},
	{"friend", 7}, {"friend", nil}, {"friend", ""},
	{"size", "medium"}, {"size", "Small"}, {"size", nil}, {"size", 1},
	{"rank", 2}, {"rank", "1"}, {"rank", json.Number("2.4999999999999999999")},
	{"tags", []any{"a", 1}}, {"tags", "a"}, {"tags", nil}, {"guests", []any{1}},
	{"rows", []any{1, 3}}, {"rows", []any{"1"}}, {"nested", []any{[]any{"2026-02-30"}}}, {"nested", []any{"2026-02-03"}},
	{"note", nil},
}

// rightValues are at the edge of what a field of every-shape takes.
func (t *T) rightValues() []fieldValue {
	return []fieldValue{
		{"word", ""}, {"word", " "}, {"amount", 0}, {"amount", json.Number("-1.5e-3")}, {"yes", false}, {"day", "2028-02-29"}, {"day", "2000-02-29"},
		{"moment", "2026-01-02T03:04:05.123456789+14:00"}, {"moment", "2026-12-31T23:59:59-12:00"},
		{"things", []any{}}, {"things", []any{nil, 1, "x", []any{}}}, {"box", Args{}}, {"box", Args{"a": nil}}, {"size", "large"},
		{"rank", json.Number("2.50")}, {"rank", json.Number("1.0")}, {"tags", []any{}}, {"guests", []any{t.Member.Person, t.Outsider.Person}},
		{"rows", []any{1, 2, 1}}, {"nested", []any{[]any{}, []any{"2026-02-28"}}}, {"friend", t.Boss.Person},
	}
}

func viewChecks() []Check {
	return []Check{{
		ID: "run-unknown", Clauses: []string{"tools get_run", "spec §4.3"},
		Title: "A run that is not there is not_found, whatever is asked of it",
		Run: func(t *T) {
			for _, id := range []string{"r_no-such-run", newID()} {
				t.Refused("not_found", t.One, "get_run", Args{"runId": id})
				t.Refused("not_found", t.One, "claim", Args{"runId": id, "stepId": "run"})
				t.Refused("not_found", t.Boss, "cancel", Args{"runId": id, "reason": "none"})
				t.Refused("not_found", t.Member, "decide", Args{"runId": id, "workItemId": "w", "snapshot": "s", "decision": "approved"})
			}
		},
	}, {
		ID: "run-everyone", Clauses: []string{"tools get_run", "spec §4.1", "spec §6.2"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "Everyone in the organization sees the same run view, without a token, while a step is claimed too",
		Run: func(t *T) {
			r := t.Start(t.Member, "relay-race", Args{"lap": 3})
			c := r.Claim(t.One, "start")
			for _, a := range t.everyone {
				v := t.OK(a, "get_run", Args{"runId": r.ID})
				r.see("get_run", v)
				t.True(!strings.Contains(v.String(), c.Token), "get_run as %s shows the token", a.Name)
			}
			c.Submit()
			r.Claim(t.Two, "bend").Submit(Args{"output": Args{"seconds": json.Number("9.5799999999999999999999")}})
			r.Claim(t.One, "straight").Submit()
			var want V
			for i, a := range t.everyone {
				v := t.OK(a, "get_run", Args{"runId": r.ID})
				r.see("get_run", v)
				if i == 0 {
					want = v
				}
				t.Equal("the run view as "+a.Name, want.At("data").X, v.At("data").X)
			}
		},
	}, {
		ID: "run-snapshot", Clauses: []string{"spec §3.4", "tools shared-shapes"}, Needs: Needs{Fixtures: []string{"relay-race"}},
		Title: "A snapshot read before is good as long as run data is unchanged, and another one once it changed",
		Run: func(t *T) {
			r := t.toVerdict()
			first := r.Item("verdict").Str("snapshot")
			r.Get()
			r.Reject(t.Member, "verdict", "once more")
			r.Claim(t.One, "bend").Submit()
			r.Claim(t.One, "straight").Submit()
			second := r.Item("verdict").Str("snapshot")
			t.True(first != second, "the snapshot is %s before and after run data changed", first)
			other := t.Start(t.One, "relay-race", Args{"lap": 77})
			for _, step := range []string{"start", "bend", "straight"} {
				other.Claim(t.Two, step).Submit()
			}
			t.True(other.Item("verdict").Str("snapshot") != second, "two runs with other run data have one snapshot")
			t.Refused("stale", t.Member, "decide", decideArgs(r.Item("verdict"), "approved", Args{"snapshot": first}))
			early := r.Item("verdict")
			r.Get()
			r.Get()
			t.OK(t.Colleague, "decide", decideArgs(early, "approved"))
		},
	}}
}

// toVerdict runs relay-race up to its first approval.
func (t *T) toVerdict() *Run {
	r := t.Start(t.One, "relay-race", Args{})
	for i, step := range []string{"start", "bend", "straight"} {
		r.Claim(t.agents[i%2], step).Submit()
	}
	return r
}

func fidelityChecks() []Check {
	return []Check{{
		ID: "numbers-unrounded", Clauses: []string{"spec §2.3"}, Needs: Needs{Fixtures: []string{"every-shape"}},
		Title: "No digit of a number is lost: in inputs, outputs, lists and objects, on every way back",
		Run: func(t *T) {
			good := t.sample(t.fixture("every-shape").Process.Inputs, 1)
			for _, n := range []string{"12345678901234567890.123456789012345678901234567890", "9007199254740993", "-9007199254740993", "0.1", "0.30000000000000000001", "1e-400", "1E+400", "123456789e-30", "100", "1.10"} {
				number := json.Number(n)
				values := with(good, Args{"amount": number, "things": []any{number, []any{number}}, "box": Args{"n": number, "deep": Args{"n": []any{number}}}})
				r := t.Start(t.One, "every-shape", values)
				r.Get()
				c := r.Claim(t.One, "copy")
				c.Submit(Args{"output": values})
				r.Get()
			}
		},
	}, {
		ID: "texts-unchanged", Clauses: []string{"spec §2.3", "tools shared-shapes"}, Needs: Needs{Fixtures: []string{"every-shape"}},
		Title: "Texts, dates and keys come back as they were given, escapes and white space included",
		Run: func(t *T) {
			good := t.sample(t.fixture("every-shape").Process.Inputs, 1)
			for _, s := range []string{"  x\t\r\n ", "\u0000\u001f", "😀 e\u0301 é", "</script>&amp;", "\u2028\u2029", `\"\\/`, "null", "1e3", "2026-01-01T00:00:00+00:00"} {
				values := with(good, Args{"word": s, "note": s, "things": []any{s, Args{s: s}}, "box": Args{s: s, "": nil}})
				r := t.Start(t.One, "every-shape", values)
				r.Get()
				r.Claim(t.Two, "copy").Submit(Args{"output": values, "summary": "s " + s})
				r.Get()
			}
		},
	}, {
		ID: "body-unchanged", Clauses: []string{"spec §2", "tools claim"}, Needs: Needs{Fixtures: []string{"stationery-order"}},
		Title: "The body of the process comes with every claim and run view, exactly as written",
		Run: func(t *T) {
			r := t.Start(t.Outsider, "stationery-order", Args{"what": "pens"})
			t.Equal("the body", t.fixture("stationery-order").Process.Body, r.Last.Str("body"))
			c := r.Claim(t.One, "order")
			t.Equal("the body in the claim", t.fixture("stationery-order").Process.Body, c.View.Str("body"))
			c.Submit()
			r.Get()
		},
	}}
}

func listRunsChecks() []Check {
	needs := Needs{Fixtures: []string{"bill-payment", "relay-race"}, Tools: []string{"list_runs"}}
	return []Check{{
		ID: "runs-filters", Clauses: []string{"tools list_runs", "spec §4.2"}, Needs: needs,
		Title: "list_runs filters by process, state and equal inputs, and by all of them together",
		Run: func(t *T) {
			mark := newID()
			inputs := Args{"supplier": mark, "total": json.Number("12345678901234567890.5"), "budgetOwner": t.Member.Person}
			a := t.Start(t.One, "bill-payment", inputs)
			b := t.Start(t.One, "bill-payment", with(inputs, Args{"total": json.Number("12345678901234567890.25")}))
			b.Cancel("for the list")
			t.inList([]string{a.ID, b.ID}, Args{"inputs": Args{"supplier": mark}})
			t.inList([]string{a.ID, b.ID}, Args{"inputs": Args{"supplier": mark}, "process": "bill-payment"})
			t.inList(nil, Args{"inputs": Args{"supplier": mark}, "process": "relay-race"})
			t.inList([]string{a.ID}, Args{"inputs": Args{"supplier": mark}, "state": "active"})
			t.inList(nil, Args{"inputs": Args{"supplier": mark}, "state": "waiting"})
			t.inList([]string{b.ID}, Args{"inputs": Args{"supplier": mark}, "state": "cancelled"})
			t.inList(nil, Args{"inputs": Args{"supplier": mark}, "state": "ended"})
			t.inList([]string{a.ID}, Args{"inputs": Args{"supplier": mark, "total": json.Number("12345678901234567890.5")}})
			t.inList(nil, Args{"inputs": Args{"supplier": mark, "total": json.Number("12345678901234567890")}})
			t.inList(nil, Args{"inputs": Args{"supplier": mark + "x"}})
			t.inList(nil, Args{"inputs": Args{"supplier": mark, "no-such-field": 1}})
			a.Claim(t.One, "match").Submit(Args{"next": "fraud"})
			t.inList([]string{a.ID}, Args{"inputs": Args{"supplier": mark}, "state": "ended"})
		},
	}, {
		ID: "runs-items", Clauses: []string{"tools list_runs"}, Needs: needs,
		Title: "An item of list_runs says what the run view says",
		Run: func(t *T) {
			mark := newID()
			r := t.Start(t.One, "bill-payment", Args{"supplier": mark, "total": json.Number("1.000000000000000000001"), "budgetOwner": t.Member.Person})
			for range 2 {
				for _, as := range []*Actor{t.Two, t.Outsider, t.Boss} {
					page := t.OK(as, "list_runs", Args{"inputs": Args{"supplier": mark}})
					t.Match("list_runs", Args{"items": []any{Args{
						"id": r.ID, "process": "bill-payment", "version": r.m.version, "state": r.m.runState(), "outcome": r.m.outcome,
						"startedAt": r.Last.Str("run.startedAt"), "updatedAt": r.Last.Str("run.updatedAt"), "inputs": r.m.inputs,
					}}, "nextCursor": nil}, page)
				}
				if r.m.over() {
					break
				}
				r.Claim(t.One, "match").Submit(Args{"next": "fraud"})
				r.Get()
			}
		},
	}, {
		ID: "runs-pages", Clauses: []string{"tools list_runs"}, Needs: needs,
		Title: "list_runs gives at most limit items a page, and every run once",
		Run: func(t *T) {
			mark := newID()
			var ids []string
			for i := range 5 {
				ids = append(ids, t.Start(t.One, "bill-payment", Args{"supplier": mark, "total": i, "budgetOwner": t.Member.Person}).ID)
			}
			for _, limit := range []int{1, 2, 5} {
				var got []string
				args := Args{"inputs": Args{"supplier": mark}, "limit": limit}
				for range 10 {
					page := t.OK(t.Member, "list_runs", args)
					t.True(len(page.List("items")) <= limit, "a page of %d has %d items", limit, len(page.List("items")))
					for _, item := range page.List("items") {
						got = append(got, item.Str("id"))
					}
					if page.Str("nextCursor") == "" {
						break
					}
					args["cursor"] = page.Str("nextCursor")
				}
				t.Equal(fmt.Sprintf("the runs in pages of %d", limit), sorted(ids), sorted(got))
			}
		},
	}}
}

// inList: list_runs with a filter gives exactly these runs.
func (t *T) inList(ids []string, filter Args) {
	var got []string
	for _, item := range t.OK(t.Two, "list_runs", filter).List("items") {
		got = append(got, item.Str("id"))
	}
	t.Equal("the runs that list_runs finds with "+short(norm(filter)), append([]string{}, sorted(ids)...), append([]string{}, sorted(got)...))
}
