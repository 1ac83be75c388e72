package conformance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// subtleCallMutants do that to lists, arguments and the calls on offer.
var subtleCallMutants = []mutant{
	{name: "list_runs forgets one at the end", rule: "every run is listed", caught: []string{"runs-filters"}, broken: answersOf("list_runs", func(x *exchange) {
		if l := list(x.data()["items"]); len(l) > 1 && x.data()["nextCursor"] == nil {
			x.data()["items"] = l[:len(l)-1]
		}
	})},
	{name: "pages overlap by one", rule: "a row comes once", caught: []string{"processes-pages"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if c := str(x.data()["nextCursor"]); c != "" {
			l := list(x.data()["items"])
			p.remember("last "+c, l[len(l)-1])
		}
		if last := p.recall("last " + str(x.args["cursor"])); last != nil && x.args["cursor"] != nil && x.ok() {
			x.data()["items"] = append([]any{last}, list(x.data()["items"])...)
		}
	}},
	{name: "a limit of one more", rule: "limit bounds a page", caught: []string{"work-pages"}, broken: before(func(x *exchange) {
		if n, ok := x.args["limit"].(json.Number); ok && (x.tool == "get_work" || x.tool == "list_runs") {
			if i, err := n.Int64(); err == nil && i > 0 && i < 50 {
				x.args["limit"] = i + 1
			}
		}
	})},
	{name: "filters by process forgotten", rule: "list_runs filters", caught: []string{"runs-filters"}, broken: argumentsOf("list_runs", func(a object) { delete(a, "process") })},
	{name: "numbers as text taken", rule: "types are exact", caught: []string{"start-lists-every-issue"}, broken: before(func(x *exchange) {
		for _, key := range []string{"output", "inputs"} {
			walkValues(x.args[key], func(v any) any {
				if s, ok := v.(string); ok {
					var n json.Number
					if json.Unmarshal([]byte(s), &n) == nil && n != "" {
						return n
					}
				}
				return v
			})
		}
	})},
	{name: "null left out is taken", rule: "null is not left out", caught: []string{"start-types"}, broken: before(func(x *exchange) {
		for _, key := range []string{"output", "inputs"} {
			o := obj(x.args[key])
			for k, v := range o {
				if v == nil {
					delete(o, k)
				}
			}
		}
	})},
	{name: "choices in any case", rule: "one_of is exact", caught: []string{"accept-types"}, broken: before(func(x *exchange) {
		if x.tool != "submit" {
			return
		}
		o := obj(x.args["output"])
		for k, v := range o {
			if s, ok := v.(string); ok && s != strings.ToLower(s) && len(s) < 12 {
				o[k] = strings.ToLower(s)
			}
		}
	})},
	{name: "decisions in any case", rule: "decision is exact", caught: []string{"arguments-decide"}, broken: argumentsOf("decide", func(a object) { a["decision"] = strings.ToLower(str(a["decision"])) })},
	{name: "step ids in any case", rule: "ids are exact", caught: []string{"arguments-claim"}, broken: argumentsOf("claim", func(a object) { a["stepId"] = strings.ToLower(str(a["stepId"])) })},
	{name: "requestIds trimmed", rule: "requestId is exact", caught: []string{"replay-exact"}, broken: before(func(x *exchange) {
		if s, ok := x.args["requestId"].(string); ok && len(s) > 3 {
			x.args["requestId"] = strings.TrimSpace(s)
		}
	})},
	{name: "describe without leaseSeconds", rule: "describe has leaseSeconds", caught: []string{"describe-shape"}, broken: answersOf("describe", func(x *exchange) { delete(x.data(), "leaseSeconds") })},
	{name: "message empty", rule: "errors have a message", caught: []string{"start-lists-every-issue"}, broken: after(func(x *exchange) {
		if f := x.fault(); f != nil {
			f["message"] = ""
		}
	})},
	{name: "a field more in every item", rule: "results are as the schemas say", caught: []string{"start-initiator"}, broken: answersOf("get_work", func(x *exchange) {
		for _, i := range list(x.data()["items"]) {
			obj(i)["hint"] = "x"
		}
	})},
	{name: "runs listed twice when active", rule: "a run has one state", caught: []string{"runs-filters"}, broken: argumentsOf("list_runs", func(a object) {
		if a["state"] == "waiting" {
			a["state"] = "active"
		}
	})},
	{name: "duplicate uploads share an id", rule: "each upload is its own", caught: []string{"replay-every-write"}, broken: func(p *proxy, x *exchange) {
		if x.tool == "upload" {
			key := "content " + fmt.Sprint(x.args["contentBase64"])
			if d, ok := p.recall(key).(object); ok {
				x.accept(clone(d))
				return
			}
			x.ask()
			if x.ok() {
				p.remember(key, clone(x.data()))
			}
			return
		}
		x.ask()
	}},
	{name: "upload counts characters", rule: "bytes", caught: []string{"start-initiator"}, broken: answersOf("upload", func(x *exchange) {
		if n, ok := x.data()["bytes"].(json.Number); ok {
			i, _ := n.Int64()
			x.data()["bytes"] = i + 1
		}
	})},
	{name: "content type forgotten", rule: "a file keeps its type", caught: []string{"arguments-upload"}, broken: argumentsOf("upload", func(a object) { a["contentType"] = "application/octet-stream" })},
	{name: "file name forgotten", rule: "a file keeps its name", caught: []string{"replay-every-write"}, broken: argumentsOf("upload", func(a object) { a["fileName"] = "file" })},
	{name: "escalation by somebody", rule: "escalation tells by whom", caught: []string{"claim-conflicts"}, broken: items(func(i object) {
		if e := obj(i["escalation"]); e != nil {
			e["by"] = "server"
		}
	})},
	{name: "escalation at another time", rule: "escalation tells when", caught: []string{"escalate-item"}, broken: items(func(i object) {
		if e := obj(i["escalation"]); e != nil {
			shifted(e, "at", -time.Minute)
		}
	})},
	{name: "people in upper case", rule: "a person value is recorded as given", caught: []string{"start-initiator"}, broken: after(func(x *exchange) {
		walkObjects(x.data(), func(o object) {
			if a := obj(o["assignedTo"]); a["person"] != nil {
				a["person"] = strings.ToUpper(str(a["person"]))
			}
		})
	})},
	{name: "due in whole days", rule: "due counts from readiness", caught: []string{"walk-flood-drill-straight"}, broken: after(func(x *exchange) {
		walkObjects(x.data(), func(o object) { shifted(o, "due", 3*time.Second) })
	})},
	{name: "record at another time", rule: "at is when it was accepted", caught: []string{"start-initiator"}, broken: records(func(_ string, r object) { shifted(r, "at", -time.Hour) })},
	{name: "decision calls without runId", rule: "the call is ready to make", caught: []string{"start-initiator"}, broken: items(func(i object) { delete(obj(obj(i["decide"])["arguments"]), "runId") })},
	{name: "escalated items without completed", rule: "an escalation can be completed", caught: []string{"start-initiator"}, broken: items(func(i object) {
		d := obj(i["decide"])
		d["decisions"] = slices.DeleteFunc(list(d["decisions"]), func(v any) bool { return v == "completed" })
	})},
	{name: "optional left out as null", rule: "what was left out stays out", caught: []string{"start-types"}, broken: views(func(v object) {
		if in := obj(obj(v["data"])["inputs"]); in != nil {
			in["extra"] = nil
		}
	})},
	{name: "list_processes drafts too", rule: "only published", caught: []string{"processes-pages"}, broken: answersOf("list_processes", func(x *exchange) {
		if l := list(x.data()["items"]); len(l) > 0 {
			c := clone(obj(l[0]))
			c["name"] = "not-there"
			x.data()["items"] = append(l, c)
		}
	})},
	{name: "descriptions in one line", rule: "description is as written", caught: []string{"listed-account-closure"}, broken: answersOf("list_processes", func(x *exchange) {
		for _, i := range list(x.data()["items"]) {
			obj(i)["description"] = str(obj(i)["description"]) + "."
		}
	})},
	{name: "old versions start", rule: "a version is that version", caught: []string{"start-unknown"}, broken: argumentsOf("start_run", func(a object) { delete(a, "version") })},
	{name: "renew without progress is refused", rule: "progress is optional", caught: []string{"renew-replaces"}, broken: func(_ *proxy, x *exchange) {
		if x.tool == "renew" && x.args["progress"] == nil {
			x.refuse("invalid", "progress: is required")
			return
		}
		x.ask()
	}},
	{name: "empty summary taken", rule: "summary", caught: []string{"accept-summary"}, broken: argumentsOf("submit", func(a object) {
		if a["summary"] == "" {
			a["summary"] = "none"
		}
	})},
	{name: "verdict of another attempt", rule: "a check is recorded", caught: []string{"check-pass"}, judged: true, broken: records(func(_ string, r object) { delete(r, "check") })},
	{name: "verdict passes", rule: "the verdict is as it was", caught: []string{"check-unsure"}, judged: true, broken: records(func(_ string, r object) {
		if c := obj(r["check"]); c != nil {
			c["verdict"] = "pass"
		}
	})},
	{name: "truncated not told", rule: "truncated", caught: []string{"check-truncated"}, judged: true, broken: records(func(_ string, r object) {
		if c := obj(r["check"]); c != nil {
			delete(c, "truncated")
		}
	})},
	{name: "capital letters in states", rule: "states are lower case", caught: []string{"start-types"}, broken: views(func(v object) { obj(v["run"])["state"] = caseOf(str(obj(v["run"])["state"])) })},
}
