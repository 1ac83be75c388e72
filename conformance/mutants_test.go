package conformance_test

import (
	"slices"
	"strings"
	"time"

	"github.com/agentprocess-temporal/server/conformance"
)

// mutant breaks one rule of a server that keeps it.
type mutant struct {
	name, rule string
	// caught are checks that must fail with the mutant, and pass without it.
	caught []string
	broken func(p *proxy, x *exchange)
	// lease mutants need a server with a short lease, judged ones an evaluator.
	lease, judged bool
	// config, if set, breaks the way to publish instead.
	config func(*conformance.Config)
}

// after breaks answers.
func after(f func(x *exchange)) func(*proxy, *exchange) {
	return func(_ *proxy, x *exchange) { x.ask(); f(x) }
}

// before breaks what reaches the server.
func before(f func(x *exchange)) func(*proxy, *exchange) {
	return func(_ *proxy, x *exchange) { f(x); x.ask() }
}

// views breaks run views.
func views(f func(v object)) func(*proxy, *exchange) {
	return after(func(x *exchange) {
		if v := x.view(); v != nil {
			f(v)
		}
	})
}

// items breaks work items, wherever they are.
func items(f func(item object)) func(*proxy, *exchange) {
	return after(func(x *exchange) {
		for _, w := range list(x.data()["workItems"]) {
			f(obj(w))
		}
		for _, w := range list(x.data()["items"]) {
			if item := obj(obj(w)["workItem"]); item != nil {
				f(item)
			}
		}
	})
}

// records breaks what steps recorded in run data.
func records(f func(id string, rec object)) func(*proxy, *exchange) {
	return after(func(x *exchange) {
		for id, rec := range obj(obj(x.data()["data"])["steps"]) {
			f(id, obj(rec))
		}
	})
}

// answersOf breaks the answers of one tool.
func answersOf(tool string, f func(x *exchange)) func(*proxy, *exchange) {
	return after(func(x *exchange) {
		if x.tool == tool {
			f(x)
		}
	})
}

// argumentsOf breaks the arguments of one tool.
func argumentsOf(tool string, f func(args object)) func(*proxy, *exchange) {
	return before(func(x *exchange) {
		if x.tool == tool {
			f(x.args)
		}
	})
}

// instead answers one code for another.
func instead(tool, from, issue, to string, issues ...any) func(*proxy, *exchange) {
	return after(func(x *exchange) {
		if (tool == "" || x.tool == tool) && (issue == "" && x.is(from) || issue != "" && x.is(from, issue)) {
			x.refuse(to, issues...)
		}
	})
}

// as lets a refused caller act as somebody else.
func as(tool, code, who string) func(*proxy, *exchange) {
	return func(p *proxy, x *exchange) {
		x.ask()
		if x.tool == tool && x.is(code) {
			x.answer = p.again(p.tokens[who], tool, x.args).answer
		}
	}
}

var mutants = slices.Concat(tokenMutants, decisionMutants, dataMutants, listMutants, callMutants, startMutants, eventMutants, judgeMutants, otherMutants, subtleMutants, subtleCallMutants)

var tokenMutants = []mutant{
	{name: "old token stays good", rule: "a renewed token stops the old one", caught: []string{"renew-replaces"}, broken: func(p *proxy, x *exchange) {
		token, _ := x.args["token"].(string)
		for {
			newer, ok := p.recall("renewed " + token).(string)
			if !ok {
				break
			}
			token = newer
		}
		if old, _ := x.args["token"].(string); old != token {
			x.args["token"] = token
		}
		x.ask()
		if x.tool == "renew" && x.ok() {
			p.remember("renewed "+token, x.data()["token"])
		}
	}},
	{name: "forged token is stale", rule: "a token that does not verify is invalid", caught: []string{"claim-tokens"}, broken: after(func(x *exchange) {
		if x.args["token"] != nil && x.is("invalid") {
			x.refuse("stale")
		}
	})},
	{name: "stale token is a conflict", rule: "an old token is stale", caught: []string{"renew-replaces"}, broken: instead("", "stale", "", "conflict")},
	{name: "token in the run view", rule: "tokens never appear in get_run", caught: []string{"run-everyone"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.tool == "claim" && x.ok() {
			p.remember("token "+x.args["runId"].(string), x.data()["token"])
		}
		if x.tool == "get_run" && x.ok() {
			if token, ok := p.recall("token " + x.args["runId"].(string)).(string); ok {
				obj(obj(x.data()["data"])["inputs"])["lap"] = token
			}
		}
	}},
	{name: "two claims at once", rule: "a claimed step belongs to one caller", caught: []string{"claim-conflicts", "race-claimants"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.tool != "claim" {
			return
		}
		key := "claim " + string(encode(object{"r": x.args["runId"], "s": x.args["stepId"]}))
		if x.ok() {
			p.remember(key, clone(x.data()))
		} else if data, ok := p.recall(key).(object); ok && x.is("conflict", "claimed_by_other") {
			x.accept(clone(data))
		}
	}},
	{name: "claimed by whom", rule: "claimed_by_you and claimed_by_other differ", caught: []string{"claim-conflicts"}, broken: instead("claim", "conflict", "claimed_by_you", "conflict", "claimed_by_other")},
	{name: "not ready without a word", rule: "an unready step is not_ready", caught: []string{"claim-conflicts"}, broken: instead("claim", "conflict", "not_ready", "conflict")},
	{name: "people claim", rule: "only agents claim", caught: []string{"claim-kinds"}, broken: as("claim", "forbidden", "agents.one")},
	{name: "somebody else's token works", rule: "a claim belongs to its caller", caught: []string{"claim-owner"}, broken: as("submit", "forbidden", "agents.one")},
	{name: "claim without body", rule: "a claim brings the body", caught: []string{"body-unchanged"}, broken: answersOf("claim", func(x *exchange) {
		if x.ok() {
			x.data()["body"] = ""
		}
	})},
	{name: "body trimmed", rule: "the body is returned as written", caught: []string{"body-unchanged"}, broken: after(func(x *exchange) {
		if body, ok := x.data()["body"].(string); ok {
			x.data()["body"] = strings.TrimSpace(body)
		}
	})},
	{name: "claim without handoff", rule: "every claim carries handoff", caught: []string{"escalate-returned"}, broken: answersOf("claim", func(x *exchange) {
		if x.ok() {
			delete(x.data(), "handoff")
		}
	})},
	{name: "handoff forgotten", rule: "a returned note travels in handoff", caught: []string{"escalate-returned"}, broken: answersOf("claim", func(x *exchange) {
		if x.ok() {
			x.data()["handoff"] = nil
		}
	})},
	{name: "handoff of get_work forgotten", rule: "get_work carries handoff", caught: []string{"escalate-returned"}, broken: answersOf("get_work", func(x *exchange) {
		for _, item := range list(x.data()["items"]) {
			if _, there := obj(item)["handoff"]; there {
				obj(item)["handoff"] = nil
			}
		}
	})},
	{name: "lease an hour longer", rule: "a claim lasts leaseSeconds", caught: []string{"claim-conflicts"}, broken: answersOf("claim", func(x *exchange) {
		if at, err := time.Parse(time.RFC3339Nano, str(x.data()["expiresAt"])); err == nil {
			x.data()["expiresAt"] = at.Add(time.Hour).Format(time.RFC3339Nano)
		}
	})},
	{name: "renew adds nothing", rule: "renew sets a new expiry", caught: []string{"renew-expiry"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.tool == "claim" && x.ok() {
			p.remember("expiry", x.data()["expiresAt"])
		}
		if x.tool == "renew" && x.ok() {
			x.data()["expiresAt"] = p.recall("expiry")
		}
	}},
	{name: "escalation keeps its token", rule: "an agent that escalates loses its claim", caught: []string{"escalate-item"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.tool == "escalate" && x.ok() {
			p.remember("escalated "+str(x.args["token"]), clone(x.data()))
		} else if view, ok := p.recall("escalated " + str(x.args["token"])).(object); ok && x.is("stale") {
			x.accept(clone(view))
		}
	}},
	{name: "progress forgotten", rule: "progress is handed to the next claimant", caught: []string{"lease-handoff"}, lease: true, broken: argumentsOf("renew", func(args object) { delete(args, "progress") })},
	{name: "first progress kept", rule: "the latest progress counts", caught: []string{"lease-handoff"}, lease: true, broken: func(p *proxy, x *exchange) {
		if x.tool == "renew" && x.args["progress"] != nil {
			if first := p.recall("progress"); first != nil {
				x.args["progress"] = first
			}
			p.remember("progress", x.args["progress"])
		}
		x.ask()
	}},
	{name: "claim replay expires", rule: "a replay has its original result after the lease, too", caught: []string{"lease-replay"}, lease: true, broken: func(p *proxy, x *exchange) {
		key := "claim " + str(x.args["requestId"])
		if x.tool == "claim" && p.recall(key) != nil {
			x.refuse("stale")
			return
		}
		x.ask()
		if x.tool == "claim" {
			p.remember(key, true)
		}
	}},
	{name: "renew does not extend", rule: "a renewed lease lasts", caught: []string{"lease-renewed"}, lease: true, broken: func(_ *proxy, x *exchange) {
		if x.tool == "renew" { // the old token stands for a new one
			x.accept(object{"token": str(x.args["token"]) + "~", "expiresAt": time.Now().Add(3 * time.Second).Format(time.RFC3339)})
			return
		}
		if token := str(x.args["token"]); token != "" {
			x.args["token"] = strings.TrimRight(token, "~")
		}
		x.ask()
	}},
}

var decisionMutants = []mutant{
	{name: "second decision counts", rule: "the first decision wins", caught: []string{"decide-first-wins", "decide-order"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.tool == "decide" && x.is("conflict", "already_decided") {
			x.answer = p.again(x.token, "get_run", object{"runId": x.args["runId"]}).answer
		}
	}},
	{name: "stale before decided", rule: "already_decided is checked before stale", caught: []string{"decide-order"}, broken: instead("decide", "conflict", "already_decided", "stale")},
	{name: "forbidden before stale", rule: "stale is checked before forbidden", caught: []string{"decide-order"}, broken: instead("decide", "stale", "", "forbidden")},
	{name: "any snapshot will do", rule: "a decision with an old snapshot is refused", caught: []string{"decide-stale-again", "run-snapshot"}, broken: func(p *proxy, x *exchange) {
		if x.tool == "decide" {
			view := p.again(x.token, "get_run", object{"runId": x.args["runId"]})
			for _, item := range list(view.data()["workItems"]) {
				if obj(item)["id"] == x.args["workItemId"] {
					x.args["snapshot"] = obj(item)["snapshot"]
				}
			}
		}
		x.ask()
	}},
	{name: "one snapshot for all", rule: "the snapshot is a hash of run data", caught: []string{"run-snapshot"}, broken: func(p *proxy, x *exchange) {
		if x.tool == "decide" && x.args["snapshot"] == "snapshot" {
			view := p.again(x.token, "get_run", object{"runId": x.args["runId"]})
			for _, item := range list(view.data()["workItems"]) {
				x.args["snapshot"] = obj(item)["snapshot"]
			}
		}
		items(func(item object) {
			item["snapshot"] = "snapshot"
			obj(obj(item["decide"])["arguments"])["snapshot"] = "snapshot"
		})(p, x)
	}},
	{name: "snapshot of yesterday", rule: "the snapshot of a read is good for a decision", caught: []string{"decide-note"}, broken: items(func(item object) {
		item["snapshot"] = "0"
		obj(obj(item["decide"])["arguments"])["snapshot"] = "0"
	})},
	{name: "agents decide", rule: "decide from an agent is refused", caught: []string{"decide-people-only"}, broken: as("decide", "forbidden", "people.member")},
	{name: "operators decide everything", rule: "only the assignee decides", caught: []string{"escalate-whose"}, broken: as("decide", "forbidden", "people.operator")},
	{name: "failed is not on offer", rule: "decisions lists what an item accepts", caught: []string{"decide-note"}, broken: items(func(item object) {
		d := obj(item["decide"])
		d["decisions"] = slices.DeleteFunc(list(d["decisions"]), func(x any) bool { return x == "failed" })
	})},
	{name: "rejection without a note", rule: "rejected needs a note", caught: []string{"decide-requires"}, broken: argumentsOf("decide", func(args object) {
		if args["decision"] == "rejected" && args["note"] == nil {
			args["note"] = "none given"
		}
	})},
	{name: "strange arguments ignored", rule: "output with approved is invalid", caught: []string{"decide-takes"}, broken: argumentsOf("decide", func(args object) {
		if args["decision"] == "approved" {
			delete(args, "output")
			delete(args, "next")
			delete(args, "reason")
		}
	})},
	{name: "note of an approval lost", rule: "an approval records its note", caught: []string{"decide-note"}, broken: argumentsOf("decide", func(args object) {
		if args["decision"] == "approved" {
			delete(args, "note")
		}
	})},
	{name: "escalation note lost", rule: "an escalation shows its note", caught: []string{"escalate-item"}, broken: items(func(item object) {
		if e := obj(item["escalation"]); e != nil {
			e["note"] = "escalated"
		}
	})},
	{name: "asks the wrong group", rule: "assignedTo names who is asked", caught: []string{"decide-note"}, broken: items(func(item object) {
		if a := obj(item["assignedTo"]); a["group"] != nil {
			a["group"] = "everyone"
		}
	})},
	{name: "item without requirements", rule: "a work item carries what a completion needs", caught: []string{"work-calls"}, broken: items(func(item object) { item["evidence"] = nil })},
	{name: "item without routes", rule: "a work item carries the routes with their when", caught: []string{"work-calls"}, broken: items(func(item object) {
		for _, r := range list(item["next"]) {
			delete(obj(r), "when")
		}
	})},
	{name: "due starts again", rule: "the due clock of a returned step does not restart", caught: []string{"escalate-due"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.tool == "decide" && x.args["decision"] == "returned" && x.ok() {
			p.remember("shift "+str(x.args["runId"]), true)
		}
		if v := x.view(); v != nil && p.recall("shift "+str(obj(v["run"])["id"])) != nil {
			for _, s := range list(v["steps"]) {
				if at, err := time.Parse(time.RFC3339Nano, str(obj(s)["due"])); err == nil {
					obj(s)["due"] = at.Add(1500 * time.Millisecond).Format(time.RFC3339Nano)
				}
			}
		}
	}},
	{name: "due a day late", rule: "due counts from when the step became ready", caught: []string{"rework-history"}, broken: views(func(v object) {
		for _, group := range [][]any{list(v["steps"]), list(v["workItems"])} {
			for _, s := range group {
				if at, err := time.Parse(time.RFC3339Nano, str(obj(s)["due"])); err == nil {
					obj(s)["due"] = at.Add(24 * time.Hour).Format(time.RFC3339Nano)
				}
			}
		}
	})},
}

func str(x any) string { s, _ := x.(string); return s }
