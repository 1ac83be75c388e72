package conformance

import (
	"encoding/json"
	"strings"
)

// argument is one argument of a tool: whether it must be there, and values that
// are none.
type argument struct {
	name     string
	required bool
	wrong    []any
}

var (
	noText   = []any{7, true, nil, []any{"x"}, Args{"x": 1}}
	noObject = []any{"x", 7, []any{}, nil, true}
	noID     = append([]any{"", strings.Repeat("r", 129)}, noText...)
	noLimit  = []any{0, -1, 101, json.Number("1.5"), "5", nil, true}
	noItems  = []any{"x", Args{}, []any{"x"}, []any{Args{"kind": "file"}}, []any{Args{"ref": "x"}}, []any{Args{"kind": "photo", "ref": "x"}}, []any{Args{"kind": "link", "ref": 7}}, []any{Args{"kind": "link", "ref": "x", "url": "y"}}}
)

// arguments are the arguments of the tools (tools.md).
var arguments = map[string][]argument{
	"describe":       {},
	"list_processes": {{"cursor", false, noText}},
	"start_run": {{"process", true, noText}, {"version", false, []any{"1", 0, -1, json.Number("1.5"), nil}}, {"inputs", true, noObject},
		{"mode", false, []any{"dry", "", 1, nil}}, {"requestId", true, noID}},
	"get_run":  {{"runId", true, noText}},
	"get_work": {{"limit", false, noLimit}, {"cursor", false, noText}, {"process", false, noText}},
	"claim":    {{"runId", true, noText}, {"stepId", true, noText}, {"requestId", true, noID}},
	"renew":    {{"token", true, noText}, {"progress", false, noText}, {"requestId", true, noID}},
	"upload":   {{"fileName", true, noText}, {"contentType", true, noText}, {"contentBase64", true, noText}, {"requestId", true, noID}},
	"submit": {{"token", true, noText}, {"output", true, noObject}, {"evidence", false, noItems}, {"summary", true, noText},
		{"next", false, noText}, {"reason", false, noText}, {"requestId", true, noID}},
	"escalate": {{"token", true, noText}, {"note", true, noText}, {"requestId", true, noID}},
	"decide": {{"runId", true, noText}, {"workItemId", true, noText}, {"snapshot", true, noText}, {"decision", true, append([]any{"maybe", "Completed", "completed ", "Approved"}, noText...)},
		{"output", false, noObject}, {"evidence", false, noItems}, {"summary", false, noText}, {"next", false, noText}, {"reason", false, noText},
		{"note", false, noText}, {"requestId", true, noID}},
	"cancel":     {{"runId", true, noText}, {"reason", true, noText}, {"requestId", true, noID}},
	"send_event": {{"runId", true, noText}, {"name", true, noText}, {"data", false, noObject}, {"requestId", true, noID}},
	"list_runs":  {{"process", false, noText}, {"state", false, []any{"open", "Active", 1, nil}}, {"inputs", false, noObject}, {"limit", false, []any{"5", nil}}, {"cursor", false, noText}},
}

// argumentChecks try every argument of every tool left out, mistyped, and with a
// stranger beside it. The rest of each call is good.
func argumentChecks() []Check {
	var out []Check
	for _, tool := range sortedKeys(arguments) {
		needs := Needs{Fixtures: []string{"bell-tower", "spare-key", firstFixture}}
		for _, optional := range optionalTools {
			if tool == optional {
				needs.Tools = []string{tool}
			}
		}
		out = append(out, Check{
			ID: "arguments-" + tool, Clauses: []string{"spec §4.3", "spec §6.3", "tools " + tool}, Needs: needs,
			Title: "Arguments that break the schema of " + tool + " are invalid, whatever else is right, and change nothing",
			Run:   func(t *T) { t.badArguments(tool) },
		})
	}
	return out
}

func (t *T) badArguments(tool string) {
	as, good, r := t.goodCall(tool)
	bad := func(args Args) {
		res := t.send(as, tool, args)
		if res.OK || res.Code != "invalid" {
			t.failCall(as, tool, "invalid", res)
		}
	}
	for _, a := range arguments[tool] {
		if a.required {
			bad(without(good, a.name))
		}
		for _, value := range a.wrong {
			bad(with(good, Args{a.name: value}))
		}
	}
	bad(with(good, Args{"unheard-of": 1}))
	if r != nil {
		r.Get()
	}
	if res := t.send(as, tool, good); !res.OK {
		t.failCall(as, tool, "ok", res)
	}
}

// goodCall is a call that would succeed, and the run that it is about.
func (t *T) goodCall(tool string) (*Actor, Args, *Run) {
	id := newID()
	switch tool {
	case "start_run":
		return t.One, Args{"process": firstFixture, "inputs": Args{}, "requestId": id}, nil
	case "upload":
		return t.One, Args{"fileName": "a", "contentType": "text/plain", "contentBase64": "YQ==", "requestId": id}, nil
	case "describe", "list_processes", "get_work", "list_runs":
		return t.One, Args{}, nil
	case "send_event":
		r := t.Start(t.One, "bell-tower", nil)
		return t.One, Args{"runId": r.ID, "name": "bell", "requestId": id}, r
	case "decide":
		r := t.Start(t.One, "spare-key", Args{"keeper": t.Member.Person})
		r.Claim(t.One, "carve").Submit()
		return t.Member, with(r.completeArgs(t.Member, "keep"), Args{"requestId": id}), r
	}
	r := t.Start(t.One, firstFixture, nil)
	switch tool {
	case "get_run":
		return t.One, Args{"runId": r.ID}, r
	case "claim":
		return t.One, Args{"runId": r.ID, "stepId": "run", "requestId": id}, r
	case "cancel":
		return t.Boss, Args{"runId": r.ID, "reason": "x", "requestId": id}, r
	}
	c := r.Claim(t.One, "run")
	switch tool {
	case "submit":
		return t.One, with(c.args(), Args{"requestId": id}), r
	case "escalate":
		return t.One, Args{"token": c.Token, "note": "x", "requestId": id}, r
	}
	return t.One, Args{"token": c.Token, "requestId": id}, r
}

func isolationChecks() []Check {
	needs := Needs{Fixtures: []string{"relay-race", firstFixture}, Other: true}
	return []Check{{
		ID: "other-organization-runs", Clauses: []string{"spec §4.1", "spec §4.3"}, Needs: needs,
		Title: "To another organization a run is not_found, and is in none of its lists",
		Run: func(t *T) {
			r := t.toVerdict()
			c := t.Start(t.One, firstFixture, nil)
			claim := c.Claim(t.One, "run")
			for _, a := range t.strangers {
				t.Refused("not_found", a, "get_run", Args{"runId": r.ID})
				r.NoWork(a, "verdict")
				if t.offers("list_runs") {
					for _, item := range t.OK(a, "list_runs", Args{"process": "relay-race"}).List("items") {
						t.True(item.Str("id") != r.ID, "list_runs as %s shows a run of another organization", a.Name)
					}
				}
			}
			t.Refused("not_found", t.OtherAgent, "claim", Args{"runId": c.ID, "stepId": "run"})
			t.Refused("not_found", t.OtherBoss, "cancel", Args{"runId": r.ID, "reason": "x"})
			t.Refused("not_found", t.OtherBoss, "decide", decideArgs(r.Item("verdict"), "approved"))
			if t.offers("send_event") {
				t.Refused("not_found", t.OtherAgent, "send_event", Args{"runId": r.ID, "name": "x"})
			}
			t.RefusedAs([]string{"invalid", "not_found", "forbidden", "stale"}, t.OtherAgent, "submit", Args{"token": claim.Token, "output": Args{}, "summary": "stolen"})
			r.Get()
			c.Get()
			claim.Submit()
		},
	}, {
		ID: "other-organization-processes", Clauses: []string{"spec §4.3", "spec §7"}, Needs: needs,
		Title: "A process is published in one organization",
		Run: func(t *T) {
			if _, shown := t.listedAs(t.OtherAgent, "relay-race"); shown {
				t.Skip("the second organization has published the fixtures, too")
			}
			t.Refused("not_found", t.OtherAgent, "start_run", Args{"process": "relay-race", "inputs": Args{}})
		},
	}, {
		ID: "other-organization-files", Clauses: []string{"spec §5"}, Needs: Needs{Fixtures: []string{"paper-trail"}, Tools: []string{"upload"}, Other: true},
		Title: "A file of another organization is no evidence, and a requestId of it no replay",
		Run: func(t *T) {
			id := newID()
			args := Args{"fileName": "a", "contentType": "text/plain", "contentBase64": "YQ==", "requestId": id}
			foreign := t.OK(t.OtherAgent, "upload", args).Str("id")
			own := t.OK(t.One, "upload", args).Str("id")
			t.True(foreign != own, "one requestId in two organizations gave one file")
			r := t.Start(t.One, "paper-trail", nil)
			c := r.Claim(t.One, "collect")
			c.NotAccepted([]string{"evidence " + foreign + ": not found"}, Args{"evidence": append(t.evidence(t.One, r.step("collect").def.Evidence), Args{"kind": "file", "ref": foreign})})
		},
	}}
}
