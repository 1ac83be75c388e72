package conformance_test

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentprocess-temporal/server/conformance"
)

var listMutants = []mutant{
	{name: "youngest work first", rule: "get_work is ordered by readySince", caught: []string{"work-agent-order", "work-person-order"}, broken: answersOf("get_work", func(x *exchange) { slices.Reverse(list(x.data()["items"])) })},
	{name: "limit ignored", rule: "limit bounds a page", caught: []string{"work-pages"}, broken: argumentsOf("get_work", func(args object) {
		if l, ok := args["limit"].(json.Number); ok && l != "0" && l != "-1" && l != "101" && !strings.Contains(l.String(), ".") {
			args["limit"] = 100
		}
	})},
	{name: "one page is all", rule: "nextCursor leads to the rest", caught: []string{"work-default-limit", "work-pages"}, broken: answersOf("get_work", func(x *exchange) {
		if x.ok() {
			x.data()["nextCursor"] = nil
		}
	})},
	{name: "pages overlap", rule: "a page goes on where the last one ended", caught: []string{"work-pages"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.tool == "get_work" && x.ok() {
			if last := p.recall("last " + x.token); last != nil && x.args["cursor"] != nil {
				x.data()["items"] = append([]any{last}, list(x.data()["items"])...)
			}
			if l := list(x.data()["items"]); len(l) > 0 {
				p.remember("last "+x.token, l[len(l)-1])
			}
		}
	}},
	{name: "filter ignored", rule: "process filters get_work", caught: []string{"work-pages"}, broken: argumentsOf("get_work", func(args object) {
		if _, ok := args["process"].(string); ok {
			delete(args, "process")
		}
	})},
	{name: "claimed work is listed", rule: "get_work lists what can be claimed", caught: []string{"work-claimed"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.tool == "start_run" && x.view() != nil {
			again := p.again(p.tokens["agents.one"], "get_work", object{"limit": 100, "process": x.args["process"]})
			for _, item := range list(again.data()["items"]) {
				if obj(item)["runId"] == obj(x.data()["run"])["id"] {
					p.remember("ghost", item)
				}
			}
		}
		if ghost := p.recall("ghost"); ghost != nil && x.tool == "get_work" && x.ok() {
			l := slices.DeleteFunc(list(x.data()["items"]), func(i any) bool { return obj(i)["runId"] == obj(ghost)["runId"] })
			x.data()["items"] = append(l, ghost)
		}
	}},
	{name: "work of others is listed", rule: "get_work lists what the caller is asked", caught: []string{"work-whose"}, broken: func(p *proxy, x *exchange) {
		if x.tool == "get_work" && x.token == p.tokens["people.outsider"] {
			x.token = p.tokens["people.member"]
		}
		x.ask()
	}},
	{name: "group items for one", rule: "any member of the group is asked", caught: []string{"work-whose"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.tool == "get_work" && x.token == p.tokens["people.colleague"] {
			x.data()["items"] = slices.DeleteFunc(list(x.data()["items"]), func(i any) bool { return obj(obj(obj(i)["workItem"])["assignedTo"])["group"] != nil })
		}
	}},
	{name: "wrong call on offer", rule: "an item carries the exact call", caught: []string{"work-calls"}, broken: answersOf("get_work", func(x *exchange) {
		for _, item := range list(x.data()["items"]) {
			if c := obj(obj(obj(item)["claim"])["arguments"]); c != nil {
				c["stepId"] = "step"
			}
		}
	})},
	{name: "wrong item on offer", rule: "a work item carries its decide call", caught: []string{"decide-note"}, broken: items(func(item object) { obj(obj(item["decide"])["arguments"])["workItemId"] = "w_other" })},
	{name: "overdue from the start", rule: "overdue is said once due has passed", caught: []string{"escalate-due"}, broken: answersOf("get_work", func(x *exchange) {
		for _, item := range list(x.data()["items"]) {
			if obj(item)["overdue"] != nil {
				obj(item)["overdue"] = true
			}
		}
	})},
	{name: "inputs do not filter", rule: "list_runs matches on inputs", caught: []string{"runs-filters"}, broken: argumentsOf("list_runs", func(args object) { delete(args, "inputs") })},
	{name: "inputs match roughly", rule: "list_runs matches on equality", caught: []string{"runs-filters"}, broken: func(_ *proxy, x *exchange) {
		if in := obj(x.args["inputs"]); x.tool == "list_runs" && in["total"] != nil {
			delete(in, "total")
		}
		x.ask()
	}},
	{name: "state does not filter", rule: "list_runs filters by state", caught: []string{"runs-filters"}, broken: argumentsOf("list_runs", func(args object) { delete(args, "state") })},
	{name: "old state in list_runs", rule: "list_runs says what the view says", caught: []string{"runs-items"}, broken: answersOf("list_runs", func(x *exchange) {
		for _, item := range list(x.data()["items"]) {
			obj(item)["state"], obj(item)["outcome"] = "active", nil
		}
	})},
	{name: "list_runs without an end", rule: "list_runs pages", caught: []string{"runs-pages"}, broken: answersOf("list_runs", func(x *exchange) {
		if x.ok() {
			x.data()["nextCursor"] = nil
		}
	})},
	{name: "requires hidden", rule: "list_processes shows requires", caught: []string{"listed-stationery-order"}, broken: answersOf("list_processes", func(x *exchange) {
		for _, item := range list(x.data()["items"]) {
			delete(obj(item), "requires")
		}
	})},
	{name: "inputs abridged", rule: "list_processes shows inputs as declared", caught: []string{"listed-every-shape"}, broken: answersOf("list_processes", func(x *exchange) {
		for _, item := range list(x.data()["items"]) {
			for _, f := range obj(obj(item)["inputs"]) {
				delete(obj(f), "one_of")
			}
		}
	})},
	{name: "a process is missing", rule: "list_processes lists what is published", caught: []string{"listed-every-shape"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.tool == "list_processes" && x.token != p.tokens["agents.one"] {
			x.data()["items"] = slices.DeleteFunc(list(x.data()["items"]), func(i any) bool { return obj(i)["name"] == "every-shape" })
		}
	}},
}

var callMutants = []mutant{
	{name: "an issue is dropped", rule: "every issue is told at once", caught: []string{"accept-every-issue", "start-lists-every-issue"}, broken: after(func(x *exchange) {
		if l := list(x.fault()["issues"]); len(l) > 1 {
			x.fault()["issues"] = l[1:]
		}
	})},
	{name: "issues in other words", rule: "issues have the form of the contract", caught: []string{"accept-every-issue"}, broken: after(func(x *exchange) {
		for i, s := range list(x.fault()["issues"]) {
			list(x.fault()["issues"])[i] = strings.Replace(str(s), ": missing", ": required", 1)
		}
	})},
	{name: "not accepted is invalid", rule: "a submission that breaks a rule is not_accepted", caught: []string{"accept-every-issue"}, broken: after(func(x *exchange) {
		if x.is("not_accepted") {
			x.fault()["code"] = "invalid"
		}
	})},
	{name: "undeclared output dropped", rule: "undeclared fields are refused", caught: []string{"accept-next-where-none"}, broken: argumentsOf("submit", func(args object) { delete(obj(args["output"]), "x") })},
	{name: "null counts as absent", rule: "null is no value", caught: []string{"accept-types", "start-types"}, broken: before(func(x *exchange) {
		for _, key := range []string{"inputs", "output"} {
			for k, v := range obj(x.args[key]) {
				if v == nil {
					delete(obj(x.args[key]), k)
				}
			}
		}
	})},
	{name: "numbers in quotes", rule: "a number is no string", caught: []string{"accept-types"}, broken: argumentsOf("submit", func(args object) {
		if out := obj(args["output"]); out["amount"] == "1" {
			out["amount"] = 1
		}
	})},
	{name: "summary made up", rule: "an agent gives a summary", caught: []string{"accept-every-issue", "accept-summary"}, broken: argumentsOf("submit", func(args object) {
		if s, ok := args["summary"].(string); ok && strings.TrimSpace(s) == "" {
			args["summary"] = "none"
		}
	})},
	{name: "reason made up", rule: "a route needs a reason", caught: []string{"accept-every-issue"}, broken: argumentsOf("submit", func(args object) {
		if args["next"] != nil && strings.TrimSpace(str(args["reason"])) == "" {
			args["reason"] = "none"
		}
	})},
	{name: "route made up", rule: "next must be one of the allowed", caught: []string{"accept-every-issue"}, broken: argumentsOf("submit", func(args object) {
		if args["next"] == "east" || args["next"] == "look" {
			args["next"] = "west"
		}
	})},
	{name: "needless route dropped", rule: "next is refused where it is no list", caught: []string{"accept-next-where-none"}, broken: argumentsOf("submit", func(args object) {
		if args["next"] == "home" {
			delete(args, "next")
			delete(args, "reason")
		}
	})},
	{name: "missing files forgiven", rule: "file evidence must exist", caught: []string{"accept-evidence", "accept-every-issue"}, broken: argumentsOf("submit", func(args object) {
		if l, ok := args["evidence"].([]any); ok {
			args["evidence"] = slices.DeleteFunc(l, func(e any) bool { return obj(e)["ref"] == "f_000" })
		}
	})},
	{name: "a link for a file", rule: "links never stand in for files", caught: []string{"accept-evidence"}, broken: func(p *proxy, x *exchange) {
		if l, ok := x.args["evidence"].([]any); ok && x.tool == "submit" && len(l) > 0 {
			up := p.again(x.token, "upload", object{"fileName": "a", "contentType": "text/plain", "contentBase64": "YQ==", "requestId": "m-" + string(encode(x.args["requestId"]))})
			x.args["evidence"] = append(l, object{"kind": "file", "ref": up.data()["id"]})
		}
		x.ask()
	}},
	{name: "unknown arguments ignored", rule: "arguments that break the schema are invalid", caught: []string{"arguments-claim", "arguments-describe"}, broken: before(func(x *exchange) { delete(x.args, "unheard-of") })},
	{name: "requestId made up", rule: "a write needs a requestId", caught: []string{"arguments-claim", "arguments-cancel"}, broken: before(func(x *exchange) {
		if x.args["requestId"] == nil && slices.Contains([]string{"claim", "cancel"}, x.tool) {
			x.args["requestId"] = "made-up-" + string(encode(x.args["runId"]))
		}
	})},
	{name: "invalid is not found", rule: "bad arguments are invalid", caught: []string{"arguments-get_run"}, broken: instead("get_run", "invalid", "", "not_found")},
	{name: "not found is forbidden", rule: "an unknown run is not_found", caught: []string{"run-unknown"}, broken: instead("", "not_found", "", "forbidden")},
	{name: "every call anew", rule: "a write is idempotent on requestId", caught: []string{"replay-every-write", "replay-at-once"}, broken: func(p *proxy, x *exchange) {
		if id, ok := x.args["requestId"].(string); ok && len(id) == 36 {
			p.mu.Lock()
			n, _ := p.memory["n "+id].(int)
			p.memory["n "+id] = n + 1
			p.mu.Unlock()
			if n > 0 {
				x.args["requestId"] = id + "-" + string(rune('a'+n))
			}
		}
		x.ask()
	}},
	{name: "replay shows the present", rule: "a replay has its original result", caught: []string{"replay-every-write"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.view() != nil && x.args["requestId"] != nil {
			if p.recall("seen "+str(x.args["requestId"])) != nil {
				x.answer = p.again(x.token, "get_run", object{"runId": obj(x.data()["run"])["id"]}).answer
			}
			p.remember("seen "+str(x.args["requestId"]), true)
		}
	}},
	{name: "requestId decides alone", rule: "a requestId with other arguments is a conflict", caught: []string{"replay-every-write", "replay-other-tool"}, broken: func(p *proxy, x *exchange) {
		key := "first " + str(x.args["requestId"])
		if x.args["requestId"] != nil {
			if first, ok := p.recall(key).(object); ok {
				x.answer = clone(first)
				return
			}
		}
		x.ask()
		if x.ok() && x.args["requestId"] != nil {
			p.remember(key, clone(x.answer))
		}
	}},
	{name: "failures are recorded", rule: "a call that failed is not recorded", caught: []string{"replay-after-failure"}, broken: func(p *proxy, x *exchange) {
		key := "failed " + str(x.args["requestId"])
		if first, ok := p.recall(key).(object); ok && x.args["requestId"] != nil {
			x.answer = clone(first)
			return
		}
		x.ask()
		if !x.ok() && x.answer != nil && x.args["requestId"] != nil {
			p.remember(key, clone(x.answer))
		}
	}},
	{name: "run_ended is skipped", rule: "writes to an ended run say run_ended", caught: []string{"end-writes", "cancel-cleans"}, broken: instead("submit", "conflict", "run_ended", "stale")},
	{name: "decided before ended", rule: "run_ended is checked before anything else", caught: []string{"end-writes", "decide-order"}, broken: instead("decide", "conflict", "run_ended", "conflict", "already_decided")},
	{name: "forbidden before ended", rule: "run_ended is checked before anything else", caught: []string{"end-before-forbidden"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.tool == "cancel" && x.token != p.tokens["people.operator"] && x.is("conflict", "run_ended") {
			x.refuse("forbidden")
		}
	}},
	{name: "no replay after the end", rule: "a replay works after the end, too", caught: []string{"end-replay"}, broken: func(p *proxy, x *exchange) {
		key := "seen " + str(x.args["requestId"])
		seen := p.recall(key) != nil
		x.ask()
		if x.args["requestId"] != nil && x.ok() && slices.Contains([]string{"claim", "submit", "cancel"}, x.tool) {
			if seen {
				x.refuse("conflict", "run_ended")
			}
			p.remember(key, true)
		}
	}},
	{name: "envelope without ok", rule: "every result is {ok, …}", caught: []string{"run-unknown"}, broken: after(func(x *exchange) {
		if x.tool == "get_run" {
			delete(x.answer, "ok")
		}
	})},
	{name: "an unheard-of code", rule: "errors have one of seven codes", caught: []string{"run-unknown"}, broken: after(func(x *exchange) {
		if x.is("not_found") {
			x.fault()["code"] = "missing"
		}
	})},
	{name: "errors without a message", rule: "an error has a message", caught: []string{"run-unknown"}, broken: after(func(x *exchange) { delete(x.fault(), "message") })},
}

var startMutants = []mutant{
	{name: "undeclared inputs dropped", rule: "undeclared inputs are invalid", caught: []string{"start-lists-every-issue"}, broken: argumentsOf("start_run", func(args object) { delete(obj(args["inputs"]), "stranger") })},
	{name: "real dates only by form", rule: "a date is a real one", caught: []string{"start-types"}, broken: argumentsOf("start_run", func(args object) {
		if in := obj(args["inputs"]); in["day"] == "2026-02-29" {
			in["day"] = "2026-02-28"
		}
	})},
	{name: "agents have initiators", rule: "an agent cannot start a run with an initiator", caught: []string{"start-initiator"}, broken: as("start_run", "invalid", "people.member")},
	{name: "every run is live", rule: "mode test is a test", caught: []string{"start-test-mode"}, broken: argumentsOf("start_run", func(args object) {
		if args["mode"] == "test" {
			delete(args, "mode")
		}
	})},
	{name: "items do not say test", rule: "every item of a test run says so", caught: []string{"start-test-mode"}, broken: items(func(item object) { delete(item, "mode") })},
	{name: "latest is the first", rule: "version defaults to the latest", caught: []string{"version-pinned"}, broken: argumentsOf("start_run", func(args object) {
		if strings.HasPrefix(str(args["process"]), "edition-") && args["version"] == nil {
			args["version"] = 1
		}
	})},
	{name: "version is not pinned", rule: "a run keeps its version", caught: []string{"version-pinned"}, broken: views(func(v object) {
		if r := obj(v["run"]); strings.HasPrefix(str(r["process"]), "edition-") {
			r["version"] = 2
		}
	})},
	{name: "any caller cancels", rule: "only an operator cancels", caught: []string{"cancel-operator"}, broken: as("cancel", "forbidden", "people.operator")},
	{name: "publishes anything", rule: "a file that breaks §2 is refused", caught: []string{"publish-refuses-no-kind", "publish-refuses-circle", "publish-refuses-parallel-shared"}, config: func(c *conformance.Config) {
		c.Publish = &conformance.Publish{Command: []string{"true"}}
	}},
}

var eventMutants = []mutant{
	{name: "events get lost", rule: "an event is delivered", caught: []string{"event-consumed", "event-held"}, broken: func(_ *proxy, x *exchange) {
		if x.tool == "send_event" {
			x.accept(object{"consumedBy": nil})
			return
		}
		x.ask()
	}},
	{name: "consumedBy is unknown", rule: "consumedBy names the step", caught: []string{"event-consumed"}, broken: answersOf("send_event", func(x *exchange) {
		if x.ok() {
			x.data()["consumedBy"] = nil
		}
	})},
	{name: "events without data", rule: "data becomes the output of the wait", caught: []string{"event-consumed"}, broken: argumentsOf("send_event", func(args object) { delete(args, "data") })},
	{name: "names compare roughly", rule: "event names compare exactly", caught: []string{"event-names"}, broken: argumentsOf("send_event", func(args object) {
		if n, ok := args["name"].(string); ok && strings.HasPrefix(n, "bell") {
			args["name"] = "bell"
		}
	})},
	{name: "youngest event first", rule: "held events are consumed oldest first", caught: []string{"event-held"}, broken: func(_ *proxy, x *exchange) {
		if d := obj(x.args["data"]); x.tool == "send_event" && d["n"] != nil {
			switch d["n"] {
			case json.Number("2"):
				d["n"] = json.Number("3")
			case json.Number("3"):
				d["n"] = json.Number("2")
			}
		}
		x.ask()
	}},
	{name: "anyone sends events", rule: "people who are no operators send no events", caught: []string{"event-senders"}, broken: as("send_event", "forbidden", "agents.one")},
	{name: "waits end at once", rule: "wait_until waits", caught: []string{"wait-until-future"}, broken: argumentsOf("start_run", func(args object) {
		if in := obj(args["inputs"]); in["sunrise"] != nil {
			in["sunrise"] = "2020-01-01T00:00:00Z"
		}
	})},
}

var otherMutants = []mutant{
	{name: "walls have holes", rule: "a run of another organization is not_found", caught: []string{"other-organization-runs"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.tool == "get_run" && x.token == p.tokens["other.agent"] && x.is("not_found") {
			x.answer = p.again(p.tokens["agents.one"], x.tool, x.args).answer
		}
	}},
	{name: "describe depends on who asks", rule: "anyone may call describe", caught: []string{"describe-everyone"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.tool == "describe" && x.token == p.tokens["people.outsider"] {
			x.data()["profiles"] = []any{}
		}
	}},
	{name: "tools hidden", rule: "describe offers what is there", caught: []string{"describe-tools"}, broken: answersOf("describe", func(x *exchange) {
		x.data()["tools"] = slices.DeleteFunc(list(x.data()["tools"]), func(t any) bool { return t == "cancel" })
	})},
	{name: "upload hashes badly", rule: "upload tells the hash of the bytes", caught: []string{"upload-hash"}, broken: answersOf("upload", func(x *exchange) {
		if x.ok() {
			x.data()["sha256"] = strings.Repeat("a", 64)
		}
	})},
	{name: "upload counts base64", rule: "upload tells the number of bytes", caught: []string{"upload-hash"}, broken: answersOf("upload", func(x *exchange) {
		if x.ok() {
			x.data()["bytes"] = len(str(x.args["contentBase64"]))
		}
	})},
	{name: "people see another run", rule: "everyone sees the same run", caught: []string{"run-everyone"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if x.tool == "get_run" && x.token == p.tokens["people.outsider"] && x.ok() {
			x.data()["data"] = object{"inputs": object{}, "steps": object{}}
		}
	}},
}

var judgeMutants = []mutant{
	{name: "verdict lost", rule: "a verdict is recorded", caught: []string{"check-pass", "check-advisory"}, judged: true, broken: records(func(_ string, rec object) { delete(rec, "check") })},
	{name: "answers lost", rule: "a verdict has an answer for each question", caught: []string{"check-pass"}, judged: true, broken: records(func(_ string, rec object) {
		if c := obj(rec["check"]); c != nil {
			c["questions"] = list(c["questions"])[:1]
		}
	})},
	{name: "candidate lost", rule: "an unsure submission is shown to the person", caught: []string{"check-unsure"}, judged: true, broken: items(func(item object) { delete(obj(item["escalation"]), "candidate") })},
	{name: "fail outranks unsure", rule: "unsure outranks fail", caught: []string{"check-worst"}, judged: true, broken: records(func(_ string, rec object) {
		if c := obj(rec["check"]); c["verdict"] == "unsure" {
			c["verdict"] = "fail"
		}
	})},
	{name: "a failed check says little", rule: "an issue names the question and the answer", caught: []string{"check-fail", "check-task"}, judged: true, broken: after(func(x *exchange) {
		for i, issue := range list(x.fault()["issues"]) {
			list(x.fault()["issues"])[i] = strings.TrimPrefix(str(issue), "check: ")
		}
	})},
	{name: "failed check not handed on", rule: "the verdict goes to handoff", caught: []string{"check-fail", "check-task"}, judged: true, broken: items(func(item object) { delete(obj(item["handoff"]), "check") })},
	{name: "advice blocks", rule: "an advisory check blocks nothing", caught: []string{"check-advisory"}, judged: true, broken: answersOf("submit", func(x *exchange) {
		if x.ok() {
			x.refuse("not_accepted", "check: no")
		}
	})},
}
