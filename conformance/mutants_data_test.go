package conformance_test

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

var dataMutants = []mutant{
	{name: "rounds numbers", rule: "numbers are not rounded", caught: []string{"numbers-unrounded"}, broken: after(func(x *exchange) {
		if x.data() != nil {
			walkValues(x.data(), func(v any) any {
				if n, ok := v.(json.Number); ok && strings.Contains(n.String(), ".") {
					if f, err := n.Float64(); err == nil {
						return f
					}
				}
				return v
			})
		}
	})},
	{name: "integers as doubles", rule: "numbers are not rounded", caught: []string{"numbers-unrounded"}, broken: after(func(x *exchange) {
		if x.data() != nil {
			walkValues(x.data(), func(v any) any {
				if n, ok := v.(json.Number); ok && len(n) > 15 && !strings.ContainsAny(n.String(), ".eE") {
					f, _ := n.Float64()
					return f
				}
				return v
			})
		}
	})},
	{name: "rounds on the way in", rule: "numbers are not rounded", caught: []string{"numbers-unrounded"}, broken: before(func(x *exchange) {
		walkValues(x.args, func(v any) any {
			if n, ok := v.(json.Number); ok && len(n) > 15 {
				if f, err := n.Float64(); err == nil {
					return f
				}
			}
			return v
		})
	})},
	{name: "trims texts", rule: "values come back as given", caught: []string{"texts-unchanged"}, broken: before(func(x *exchange) {
		for _, key := range []string{"inputs", "output"} {
			walkValues(x.args[key], func(v any) any {
				if s, ok := v.(string); ok {
					return strings.TrimSpace(s)
				}
				return v
			})
		}
	})},
	{name: "dates in UTC", rule: "a datetime keeps its offset", caught: []string{"texts-unchanged"}, broken: views(func(v object) {
		walkValues(obj(v["data"])["inputs"], func(v any) any {
			if s, ok := v.(string); ok {
				if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
					return at.UTC().Format(time.RFC3339Nano)
				}
			}
			return v
		})
	})},
	{name: "forgets history", rule: "history keeps every completion", caught: []string{"rework-history"}, broken: records(func(_ string, rec object) {
		if h := list(rec["history"]); len(h) > 1 {
			rec["history"] = h[1:]
		}
	})},
	{name: "history backwards", rule: "history is oldest first", caught: []string{"rework-history"}, broken: records(func(_ string, rec object) { slices.Reverse(list(rec["history"])) })},
	{name: "history without summary", rule: "history keeps the fields of a completion", caught: []string{"rework-history"}, broken: records(func(_ string, rec object) {
		for _, h := range list(rec["history"]) {
			delete(obj(h), "summary")
		}
	})},
	{name: "rejection forgotten", rule: "a rejecting approval keeps its note", caught: []string{"rework-history"}, broken: records(func(_ string, rec object) {
		if rec["decision"] == "rejected" {
			delete(rec, "note")
		}
	})},
	{name: "by is missing", rule: "a completion records who", caught: []string{"submit-returns-view"}, broken: records(func(_ string, rec object) { delete(rec, "by") })},
	{name: "at is missing", rule: "a completion records when", caught: []string{"submit-returns-view"}, broken: records(func(_ string, rec object) { delete(rec, "at") })},
	{name: "everything by the server", rule: "by is who completed the step", caught: []string{"submit-returns-view"}, broken: records(func(_ string, rec object) {
		if rec["by"] != nil {
			rec["by"] = "server"
		}
	})},
	{name: "at is now", rule: "a completion keeps its time", caught: []string{"submit-returns-view"}, broken: func(_ *proxy, x *exchange) {
		x.ask()
		if v := x.view(); v != nil {
			for _, rec := range obj(obj(v["data"])["steps"]) {
				if obj(rec)["at"] != nil {
					obj(rec)["at"] = obj(v["run"])["updatedAt"]
				}
			}
		}
	}},
	{name: "summary lost", rule: "the summary is recorded", caught: []string{"submit-returns-view"}, broken: records(func(_ string, rec object) { delete(rec, "summary") })},
	{name: "reason lost", rule: "the reason of a route is recorded", caught: []string{"submit-route"}, broken: records(func(_ string, rec object) { delete(rec, "reason") })},
	{name: "file without url", rule: "a file carries a url", caught: []string{"upload-url"}, broken: records(func(_ string, rec object) {
		for _, e := range list(rec["evidence"]) {
			delete(obj(e), "url")
		}
	})},
	{name: "file with a dead url", rule: "the url of a file opens it", caught: []string{"upload-url"}, broken: records(func(_ string, rec object) {
		for _, e := range list(rec["evidence"]) {
			if u := str(obj(e)["url"]); u != "" {
				obj(e)["url"] = u[:strings.LastIndex(u, "/")] + "/f_none"
			}
		}
	})},
	{name: "file with another hash", rule: "a file carries the hash of its upload", caught: []string{"upload-url", "accept-evidence"}, broken: records(func(_ string, rec object) {
		for _, e := range list(rec["evidence"]) {
			if obj(e)["sha256"] != nil {
				obj(e)["sha256"] = strings.Repeat("0", 64)
			}
		}
	})},
	{name: "links dropped", rule: "link evidence is recorded as stated", caught: []string{"accept-unrequired-evidence"}, broken: records(func(_ string, rec object) {
		if l := list(rec["evidence"]); l != nil {
			rec["evidence"] = slices.DeleteFunc(l, func(e any) bool { return obj(e)["kind"] == "link" })
		}
	})},
	{name: "view without body", rule: "a run view brings the body", caught: []string{"body-unchanged"}, broken: answersOf("get_run", func(x *exchange) { delete(x.data(), "body") })},
	{name: "waiting is active", rule: "a run that only waits is waiting", caught: []string{"wait-until-future"}, broken: views(func(v object) {
		if obj(v["run"])["state"] == "waiting" {
			obj(v["run"])["state"] = "active"
		}
	})},
	{name: "view before the transitions", rule: "a write returns after what it triggered", caught: []string{"submit-returns-view"}, broken: answersOf("submit", func(x *exchange) {
		for _, s := range list(x.data()["steps"]) {
			if obj(s)["state"] == "ready" {
				obj(s)["state"] = nil
			}
		}
	})},
	{name: "cancelled step is done", rule: "unfinished steps of a run that ended are cancelled", caught: []string{"cancel-operator"}, broken: views(func(v object) {
		for _, s := range list(v["steps"]) {
			if obj(s)["state"] == "cancelled" {
				obj(s)["state"] = "done"
			}
		}
	})},
	{name: "failed step is done", rule: "a failed decision leaves a failed step", caught: []string{"end-failed"}, broken: views(func(v object) {
		for _, s := range list(v["steps"]) {
			if obj(s)["state"] == "failed" {
				obj(s)["state"] = "done"
			}
		}
	})},
	{name: "ended is null", rule: "an ended run records ended", caught: []string{"end-finish"}, broken: views(func(v object) { obj(v["run"])["ended"] = nil })},
	{name: "reason of a cancel lost", rule: "ended keeps the note", caught: []string{"cancel-operator"}, broken: views(func(v object) {
		if e := obj(obj(v["run"])["ended"]); e != nil {
			e["note"] = nil
		}
	})},
	{name: "outcome is done", rule: "a run ends with the outcome of its finish", caught: []string{"end-finish"}, broken: views(func(v object) {
		if obj(v["run"])["outcome"] != nil {
			obj(v["run"])["outcome"] = "done"
		}
	})},
	{name: "finish records something", rule: "a finish records nothing", caught: []string{"end-finish"}, broken: views(func(v object) {
		if obj(v["run"])["outcome"] == "home" {
			obj(obj(v["data"])["steps"])["home"] = object{"by": "server", "at": obj(v["run"])["updatedAt"], "history": []any{}}
		}
	})},
	{name: "items of a dead run", rule: "work items go when the run ends", caught: []string{"cancel-cleans"}, broken: func(p *proxy, x *exchange) {
		x.ask()
		if v := x.view(); v != nil {
			id := str(obj(v["run"])["id"])
			if l := list(v["workItems"]); len(l) > 0 {
				p.remember("items "+id, clone(object{"l": l})["l"])
			} else if old := p.recall("items " + id); old != nil && obj(v["run"])["state"] == "cancelled" {
				v["workItems"] = old
			}
		}
	}},
	{name: "started by nobody", rule: "startedBy is who started the run", caught: []string{"start-by-people"}, broken: views(func(v object) { obj(v["run"])["startedBy"] = "server" })},
	{name: "steps out of order", rule: "the view lists the steps of the file", caught: []string{"submit-returns-view"}, broken: views(func(v object) { slices.Reverse(list(v["steps"])) })},
	{name: "fork one by one", rule: "every branch becomes ready in one write", caught: []string{"parallel-fork"}, broken: answersOf("start_run", func(x *exchange) {
		for _, s := range list(x.data()["steps"]) {
			if obj(s)["id"] == "right" {
				obj(s)["state"] = nil
				delete(obj(s), "due")
				delete(obj(s), "overdue")
			}
		}
	})},
	{name: "fork records something", rule: "a parallel step records nothing", caught: []string{"parallel-join"}, broken: views(func(v object) {
		for _, s := range list(v["steps"]) {
			if obj(s)["kind"] == "parallel" && obj(s)["state"] == "done" {
				obj(obj(v["data"])["steps"])[str(obj(s)["id"])] = object{"by": "server", "at": obj(v["run"])["updatedAt"], "history": []any{}}
			}
		}
	})},
	{name: "join forgets itself", rule: "the parallel step is done after the join", caught: []string{"parallel-join"}, broken: views(func(v object) {
		for _, s := range list(v["steps"]) {
			if obj(s)["kind"] == "parallel" && obj(s)["state"] == "done" {
				obj(s)["state"] = nil
			}
		}
	})},
}
