package conformance_test

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// shifted moves a time that an object holds.
func shifted(o object, key string, by time.Duration) {
	if at, err := time.Parse(time.RFC3339Nano, str(o[key])); err == nil {
		o[key] = at.Add(by).Format(time.RFC3339Nano)
	}
}

// caseOf turns the case of a text's first letter.
func caseOf(s string) string {
	if s == "" {
		return s
	}
	if up := strings.ToUpper(s[:1]); up != s[:1] {
		return up + s[1:]
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// subtleMutants break what is easily overlooked.
var subtleMutants = []mutant{
	{name: "by another of the same run", rule: "by is who did it", caught: []string{"run-everyone"}, broken: views(func(v object) {
		var recs []object
		for _, r := range obj(obj(v["data"])["steps"]) {
			if rec := obj(r); rec["by"] != nil && rec["by"] != "server" {
				recs = append(recs, rec)
			}
		}
		for i, r := range recs {
			for _, o := range recs[i+1:] {
				if r["by"] != o["by"] {
					r["by"], o["by"] = o["by"], r["by"]
					return
				}
			}
		}
	})},
	{name: "started by the operator", rule: "startedBy is who started", caught: []string{"start-by-people"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if v := x.view(); v != nil {
			run := obj(v["run"])
			if p.recall("somebody") == nil {
				p.remember("somebody", run["startedBy"])
			}
			run["startedBy"] = p.recall("somebody")
		}
	}},
	{name: "decision in capitals", rule: "decision is recorded as given", caught: []string{"run-snapshot"}, broken: records(func(_ string, r object) {
		if d, ok := r["decision"].(string); ok {
			r["decision"] = strings.ToUpper(d)
		}
	})},
	{name: "version one more in the view", rule: "a run names its version", caught: []string{"start-types"}, broken: views(func(v object) {
		if n, ok := obj(v["run"])["version"].(json.Number); ok {
			i, _ := n.Int64()
			obj(v["run"])["version"] = i + 1
		}
	})},
	{name: "version one more in get_work", rule: "an item names its version", caught: []string{"start-initiator"}, broken: answersOf("get_work", func(x *exchange) {
		for _, i := range list(x.data()["items"]) {
			if n, ok := obj(i)["version"].(json.Number); ok {
				v, _ := n.Int64()
				obj(i)["version"] = v + 1
			}
		}
	})},
	{name: "lease an hour shorter", rule: "a claim lasts leaseSeconds", caught: []string{"start-test-mode"}, broken: answersOf("claim", func(x *exchange) {
		if x.ok() {
			shifted(x.data(), "expiresAt", -time.Hour)
		}
	})},
	{name: "lease ten minutes longer on renewal", rule: "a renewal lasts leaseSeconds", caught: []string{"renew-replaces"}, broken: answersOf("renew", func(x *exchange) {
		if x.ok() {
			shifted(x.data(), "expiresAt", 10*time.Minute)
		}
	})},
	{name: "last line end of the body lost", rule: "the body is returned as written", caught: []string{"start-types"}, broken: after(func(x *exchange) {
		if b, ok := x.data()["body"].(string); ok {
			x.data()["body"] = strings.TrimSuffix(b, "\n")
		}
	})},
	{name: "body of the claim with CRLF", rule: "the body is returned as written", caught: []string{"start-test-mode"}, broken: answersOf("claim", func(x *exchange) {
		if b, ok := x.data()["body"].(string); ok {
			x.data()["body"] = strings.ReplaceAll(b, "\n", "\r\n")
		}
	})},
	{name: "only the first issue", rule: "every issue at once", caught: []string{"start-lists-every-issue"}, broken: after(func(x *exchange) {
		if is := list(x.fault()["issues"]); len(is) > 1 {
			x.fault()["issues"] = is[:1]
		}
	})},
	{name: "twice the same issue", rule: "every issue once", caught: []string{"accept-every-issue"}, broken: after(func(x *exchange) {
		if is := list(x.fault()["issues"]); len(is) > 0 && x.is("not_accepted") {
			x.fault()["issues"] = append(slices.Clone(is), is[0])
		}
	})},
	{name: "started at the last update", rule: "startedAt is when it started", caught: []string{"start-types"}, broken: views(func(v object) {
		obj(v["run"])["startedAt"] = obj(v["run"])["updatedAt"]
	})},
	{name: "updated at the start", rule: "updatedAt follows writes", caught: []string{"times-move"}, broken: views(func(v object) {
		obj(v["run"])["updatedAt"] = obj(v["run"])["startedAt"]
	})},
	{name: "outcome of an open run", rule: "outcome is null until the run ended", caught: []string{"start-types"}, broken: views(func(v object) {
		if obj(v["run"])["outcome"] == nil {
			obj(v["run"])["outcome"] = ""
		}
	})},
	{name: "ended without by", rule: "ended tells who", caught: []string{"start-types"}, broken: views(func(v object) {
		if e := obj(obj(v["run"])["ended"]); e != nil {
			delete(e, "by")
		}
	})},
	{name: "cancel reason lost", rule: "ended keeps the reason", caught: []string{"start-types"}, broken: views(func(v object) {
		if e := obj(obj(v["run"])["ended"]); e != nil && e["note"] != nil {
			e["note"] = nil
		}
	})},
	{name: "steps in another order", rule: "steps come in the order of the process", caught: []string{"start-types"}, broken: views(func(v object) { slices.Reverse(list(v["steps"])) })},
	{name: "step kinds mixed", rule: "a step names its kind", caught: []string{"start-initiator"}, broken: views(func(v object) {
		for _, s := range list(v["steps"]) {
			if obj(s)["kind"] == "task" {
				obj(s)["kind"] = "approve"
			}
		}
	})},
	{name: "claimed looks ready", rule: "state of a claimed step", caught: []string{"run-everyone"}, broken: views(func(v object) {
		for _, s := range list(v["steps"]) {
			if obj(s)["state"] == "claimed" {
				obj(s)["state"] = "ready"
			}
		}
	})},
	{name: "route of the last completion", rule: "next is recorded", caught: []string{"start-test-mode"}, broken: records(func(_ string, r object) { delete(r, "next") })},
	{name: "evidence in another order", rule: "evidence is recorded as given", caught: []string{"upload-url"}, broken: records(func(_ string, r object) { slices.Reverse(list(r["evidence"])) })},
	{name: "digest in capitals", rule: "sha256 is lower-case hex", caught: []string{"start-initiator"}, broken: after(func(x *exchange) {
		walkObjects(x.data(), func(o object) {
			if s, ok := o["sha256"].(string); ok {
				o["sha256"] = strings.ToUpper(s)
			}
		})
	})},
	{name: "file address that does not answer", rule: "url serves the file", caught: []string{"upload-url"}, broken: after(func(x *exchange) {
		walkObjects(x.data(), func(o object) {
			if s, ok := o["url"].(string); ok {
				o["url"] = strings.SplitN(s, "?", 2)[0]
			}
		})
	})},
	{name: "history turned round", rule: "history is in order", caught: []string{"rework-history"}, broken: records(func(_ string, r object) { slices.Reverse(list(r["history"])) })},
	{name: "history without its last", rule: "history keeps every completion", caught: []string{"rework-history"}, broken: records(func(_ string, r object) {
		if h := list(r["history"]); len(h) > 1 {
			r["history"] = h[:len(h)-1]
		}
	})},
	{name: "history with the current one", rule: "history has earlier completions", caught: []string{"start-initiator"}, broken: records(func(_ string, r object) {
		if r["at"] != nil {
			c := clone(r)
			delete(c, "history")
			r["history"] = append(list(r["history"]), c)
		}
	})},
	{name: "readySince is now", rule: "readySince is when it became ready", caught: []string{"times-move"}, broken: answersOf("get_work", func(x *exchange) {
		for _, i := range list(x.data()["items"]) {
			if obj(i)["readySince"] != nil {
				obj(i)["readySince"] = time.Now().UTC().Format(time.RFC3339Nano)
			}
		}
	})},
	{name: "test mode unnamed in get_work", rule: "mode is named", caught: []string{"start-test-mode"}, broken: answersOf("get_work", func(x *exchange) {
		for _, i := range list(x.data()["items"]) {
			if obj(i)["mode"] == "test" {
				obj(i)["mode"] = "live"
			}
		}
	})},
	{name: "test mode unnamed in the claim", rule: "mode is named", caught: []string{"start-test-mode"}, broken: answersOf("claim", func(x *exchange) {
		if x.ok() && x.data()["mode"] == "test" {
			x.data()["mode"] = "live"
		}
	})},
	{name: "instructions in one line", rule: "instructions are the step's text", caught: []string{"start-test-mode"}, broken: answersOf("claim", func(x *exchange) {
		if s := obj(x.data()["step"]); s != nil {
			s["instructions"] = strings.Join(strings.Fields(str(s["instructions"])), " ") + "."
		}
	})},
	{name: "work item text of another step", rule: "text is the step's", caught: []string{"start-initiator"}, broken: items(func(i object) { i["text"] = str(i["text"]) + " " })},
	{name: "consumedBy null", rule: "consumedBy names the wait", caught: []string{"event-consumed"}, broken: answersOf("send_event", func(x *exchange) {
		if x.ok() {
			x.data()["consumedBy"] = nil
		}
	})},
	{name: "event data as text", rule: "event data is recorded as given", caught: []string{"event-consumed"}, broken: argumentsOf("send_event", func(a object) {
		if d := obj(a["data"]); d != nil {
			walkValues(d, func(v any) any {
				if n, ok := v.(json.Number); ok {
					return n.String()
				}
				return v
			})
		}
	})},
	{name: "replay with a later update", rule: "a replay is the original result", caught: []string{"end-replay"}, broken: func(p *proxy, x *exchange) {
		id := str(x.args["requestId"])
		again := id != "" && p.recall("seen "+id) != nil
		x.ask()
		if id != "" && x.ok() {
			p.remember("seen "+id, true)
			if again && x.view() != nil {
				shifted(obj(x.view()["run"]), "updatedAt", time.Second)
			}
		}
	}},
	{name: "replay of another caller", rule: "a requestId belongs to its caller", caught: []string{"replay-every-write"}, broken: func(p *proxy, x *exchange) {
		key := "result " + str(x.args["requestId"])
		x.ask()
		if str(x.args["requestId"]) == "" {
			return
		}
		if x.ok() {
			p.remember(key, clone(x.data()))
		} else if d, ok := p.recall(key).(object); ok && (x.is("conflict") || x.is("invalid")) {
			x.accept(clone(d))
		}
	}},
	{name: "refusals are remembered", rule: "a refused call is not recorded", caught: []string{"replay-after-failure"}, broken: func(p *proxy, x *exchange) {
		id := str(x.args["requestId"])
		if f, ok := p.recall("refused " + id).(object); ok && id != "" {
			x.answer = object{"ok": false, "error": clone(f)}
			return
		}
		x.ask()
		if id != "" && x.fault() != nil && x.is("not_accepted") {
			p.remember("refused "+id, clone(x.fault()))
		}
	}},
	{name: "unknown runs are forbidden", rule: "an unknown id is not_found", caught: []string{"run-unknown"}, broken: instead("get_run", "not_found", "", "forbidden")},
	{name: "unknown work items are conflicts", rule: "an unknown id is not_found", caught: []string{"run-unknown"}, broken: instead("decide", "not_found", "", "conflict", "already_decided")},
	{name: "invalid is not accepted", rule: "arguments that do not fit are invalid", caught: []string{"claim-tokens"}, broken: instead("submit", "invalid", "", "not_accepted", "output: must be an object")},
}

// walkObjects visits every object in a value.
func walkObjects(x any, visit func(object)) {
	switch v := x.(type) {
	case object:
		visit(v)
		for _, each := range v {
			walkObjects(each, visit)
		}
	case []any:
		for _, each := range v {
			walkObjects(each, visit)
		}
	}
}
