package access

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/schemas"
)

// foreign is one thing of another organization, and what looks like it and is
// nobody's.
type foreign struct{ kind, theirs, nobodys string }

// like is an id that differs from another in one character of its middle.
func like(id string) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := []byte(id)
	for n := range b {
		i := (len(b)/2 + n) % len(b)
		switch at := strings.IndexByte(letters, b[i]); {
		case at >= 0 && at < 5: // a hexadecimal digit stays one
			b[i]++
			return string(b)
		case at == 5 || at >= 26 && at < 36:
			b[i] = 'a'
			return string(b)
		}
	}
	for i := range b { // none of those: any letter of lower case
		if 'a' <= b[i] && b[i] <= 'y' {
			b[i]++
			return string(b)
		}
	}
	return id + "x"
}

// likeCursor is a good cursor at a place where nothing is.
func likeCursor(t *testing.T, cursor string) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	require.NoError(t, err)
	id := regexp.MustCompile(`r_[a-z0-9]+`).FindString(string(raw))
	require.NotEmpty(t, id, "%s", raw)
	out := strings.ReplaceAll(string(raw), id, like(id)) // in the order in which a cursor is written
	return base64.RawURLEncoding.EncodeToString([]byte(out))
}

// things are one of each kind that the other organization has.
func (w world) things() []foreign {
	w.t.Helper()
	asked, item := w.asked()
	w.startRun()
	w.startRun()
	token := w.claim(A1, w.startRun())
	w.asked()
	link := w.fileLink()
	cursor := func(who, tool string) string {
		next := Must[struct{ NextCursor *string }](w.Server, who, tool, Args{"limit": 1}).NextCursor
		require.NotNil(w.t, next, tool)
		return *next
	}
	id, _, found := strings.Cut(link[strings.Index(link, "/files/")+len("/files/"):], "?")
	require.True(w.t, found)
	var all []foreign
	for _, f := range []foreign{
		{kind: "run", theirs: asked},
		{kind: "run that is over", theirs: w.over()},
		{kind: "process", theirs: "onboarding"},
		{kind: "work item", theirs: item.ID},
		{kind: "snapshot", theirs: item.Snapshot},
		{kind: "file", theirs: id},
		{kind: "link to a file", theirs: link, nobodys: strings.Replace(link, id, like(id), 1)},
		{kind: "claim token", theirs: token},
	} {
		if f.nobodys == "" {
			f.nobodys = like(f.theirs)
		}
		all = append(all, f)
	}
	for _, c := range [][2]string{{A1, "list_runs"}, {A2, "get_work"}, {Mira, "get_work"}} {
		own := cursor(c[0], c[1])
		all = append(all, foreign{"cursor of " + c[1], own, likeCursor(w.t, own)})
	}
	for _, f := range all {
		require.NotEqual(w.t, f.theirs, f.nobodys, f.kind)
	}
	return all
}

// used is a requestId that the other organization has used.
func (w world) used() string {
	args := uploadArgs()
	Must[any](w.Server, A1, "upload", args)
	return args["requestId"].(string)
}

const ownProcess = `---
name: own
description: Of the other organization.
steps:
  - { id: work, agent: Work., evidence: [file], next: agree }
  - { id: agree, person: role, approve: Agree., next: done }
  - { id: done, finish: done }
---
X.
`

// goodCalls are calls of every tool by the other organization that are good. They
// are of its own things, so that whatever else is put in one place is looked for.
func (w world) goodCalls(agent, boss as) map[string][]Args {
	w.t.Helper()
	must := func(a as, tool string, args Args) json.RawMessage {
		w.t.Helper()
		r := w.call(a, tool, args)
		require.True(w.t, r.OK, "%s: %v", tool, r.Error)
		return r.Data
	}
	begin := func() string {
		return read[run.View](w.t, must(boss, "start_run", Args{"process": "own", "inputs": Args{}, "requestId": ID()})).Run.ID
	}
	claim := func(id string) string {
		return read[run.ClaimView](w.t, must(agent, "claim", Args{"runId": id, "stepId": "work", "requestId": ID()})).Token
	}
	asked := begin()
	file := read[struct{ ID string }](w.t, must(agent, "upload", uploadArgs())).ID
	view := read[run.View](w.t, must(agent, "submit", Args{
		"token": claim(asked), "output": Args{}, "summary": "x", "evidence": []Args{{"kind": "file", "ref": file}}, "requestId": ID(),
	}))
	require.Len(w.t, view.WorkItems, 1)
	item, ready, token := view.WorkItems[0], begin(), claim(begin())
	decide := Args{"runId": asked, "workItemId": item.ID, "snapshot": item.Snapshot, "decision": "approved"}
	return map[string][]Args{
		"describe":       {{}},
		"list_processes": {{"cursor": ""}},
		"list_runs":      {{"process": "own", "cursor": "", "inputs": Args{}}},
		"get_work":       {{"process": "own", "cursor": ""}},
		"get_run":        {{"runId": ready}},
		"start_run":      {{"process": "own", "inputs": Args{}}},
		"claim":          {{"runId": ready, "stepId": "work"}},
		"renew":          {{"token": token}},
		"submit":         {{"token": token, "output": Args{}, "summary": "x", "evidence": []Args{{"kind": "file", "ref": file}}}},
		"escalate":       {{"token": token, "note": "x"}},
		"decide":         {decide, with(decide, "evidence", []Args{{"kind": "file", "ref": file}})},
		"cancel":         {{"runId": ready, "reason": "x"}},
		"send_event":     {{"runId": ready, "name": "x"}},
		"upload":         {{"fileName": "a.txt", "contentType": "text/plain", "contentBase64": "eA=="}},
	}
}

// places are the arguments that are ids, or in which an id could be tried.
var places = []string{"runId", "process", "stepId", "workItemId", "snapshot", "token", "cursor", "name", "ref"}

// put is a call with a value in one place; false where the call has no such
// place, or the value is there already.
func put(args Args, place, value string) (Args, bool) {
	changed := maps.Clone(args)
	if place == "ref" {
		_, ok := args["evidence"]
		changed["evidence"] = []Args{{"kind": "file", "ref": value}}
		return changed, ok
	}
	old, ok := args[place]
	changed[place] = value
	return changed, ok && old != value
}

func TestEveryForeignIDAtEveryPlaceIsLikeAnUnknownOne(t *testing.T) {
	q := &queries{org: "other"}
	w := start(t, func(o *server.Options) { o.Tracer, o.Trust.People.AnyGroup = q, true })
	w.Publish(evidenceProcess, nil)
	all := w.things()
	agent, boss := w.with(w.TokenWith(foreignAgent)), w.with(w.TokenWith(foreignBoss))
	for _, c := range [][3]string{
		{"POST", "/api/processes", ownProcess}, {"PUT", "/api/processes/own/roles", `{"role":"finance"}`}, {"POST", "/api/processes/own/publish", ""},
	} {
		res, text := w.http(boss.token, c[0], c[1], c[2])
		require.Less(t, res.StatusCode, 300, text)
	}
	calls := w.goodCalls(agent, boss)

	type answer struct {
		text    string
		queries []string
	}
	ask := func(a as, tool string, args Args, value string) answer {
		if _, given := args["requestId"]; !given && calls[tool] != nil && writes(tool) {
			args["requestId"] = ID()
		}
		q.take()
		r := w.call(a, tool, args)
		text, err := json.Marshal(r.Error)
		require.NoError(t, err)
		quoted, err := json.Marshal(value)
		require.NoError(t, err)
		for _, s := range []string{value, strings.Trim(string(quoted), `"`)} {
			text = []byte(strings.ReplaceAll(string(text), s, "ID"))
		}
		if r.OK && !writes(tool) {
			text = append(text, r.Data...)
		}
		return answer{fmt.Sprint(r.OK, " ", string(text)), q.take()}
	}
	tried := 0
	for _, tool := range schemas.Tools() {
		require.NotEmpty(t, calls[tool], "a tool that this test leaves out: %s", tool)
		for _, args := range calls[tool] {
			for _, a := range []as{agent, boss} {
				for _, place := range places {
					for _, f := range all {
						withTheirs, ok := put(args, place, f.theirs)
						withNobodys, _ := put(args, place, f.nobodys)
						if !ok {
							continue
						}
						tried++
						where := fmt.Sprintf("%s with a %s as %s", tool, f.kind, place)
						theirs := ask(a, tool, withTheirs, f.theirs)
						nobodys := ask(a, tool, withNobodys, f.nobodys)
						require.Equal(t, nobodys.text, theirs.text, where)
						require.Equal(t, nobodys.queries, theirs.queries, "%s: the same queries", where)
						if writes(tool) && place != "name" { // an event may have any name
							require.True(t, strings.HasPrefix(theirs.text, "false"), "%s: %s", where, theirs.text)
						}
					}
				}
			}
		}
	}
	require.Greater(t, tried, 250)
	t.Log(tried, "calls with a foreign id")

	// A requestId of the other organization is a new one here, for every write: of
	// which some succeed, and then with a result of its own.
	for _, tool := range schemas.Tools() {
		if !writes(tool) {
			continue
		}
		fails := tool != "upload" && tool != "start_run"
		for _, args := range calls[tool] {
			theirs, fresh := maps.Clone(args), maps.Clone(args)
			if fails { // so that the two are of one state
				for _, place := range []string{"runId", "token"} {
					if changed, ok := put(args, place, like("r_0123456789abcdef")); ok {
						theirs, fresh = changed, maps.Clone(changed)
					}
				}
			}
			theirs["requestId"], fresh["requestId"] = w.used(), ID()
			a, b := ask(boss, tool, theirs, "-"), ask(boss, tool, fresh, "-")
			require.Equal(t, b, a, "%s with a requestId of theirs", tool)
			require.Equal(t, !fails, strings.HasPrefix(a.text, "true"), "%s: %s", tool, a.text)
		}
	}

	// And everything of their own still is as it was.
	for _, tool := range []string{"claim", "submit", "decide"} {
		args := maps.Clone(calls[tool][0])
		args["requestId"] = ID()
		a := agent
		if tool == "decide" {
			a = boss
		}
		r := w.call(a, tool, args)
		require.True(t, r.OK, "%s: %v", tool, r.Error)
	}
}

// writes reports whether a tool takes a requestId.
func writes(tool string) bool {
	switch tool {
	case "describe", "list_processes", "list_runs", "get_work", "get_run":
		return false
	}
	return true
}

func TestTheAPITakesAForeignPlaceOrIDForAnUnknownOne(t *testing.T) {
	w, q := both(t)
	w.Publish(evidenceProcess, nil)
	all := w.things()
	place := w.log("")[0].Place()
	all = append(all, foreign{"place in the audit log", place, like(place)})
	boss := w.TokenWith(foreignBoss)
	for _, f := range all {
		for _, c := range [][3]string{
			{"GET", "/api/processes/%s/checks", ""},
			{"PUT", "/api/processes/%s/roles", `{"role":"finance"}`},
			{"POST", "/api/processes/%s/publish", ""},
			{"DELETE", "/api/runs/%s", ""},
			{"GET", "/api/audit?limit=1&caller=nobody&after=%s", ""},
			{"GET", "/api/audit?limit=1&caller=nobody&run=%s", ""},
			{"GET", "/api/audit?limit=1&caller=nobody&run=r_none&action=%s", ""},
		} {
			send := func(value string) (int, string, []string) {
				q.take()
				path := fmt.Sprintf(c[1], url.QueryEscape(value))
				res, text := w.http(boss, c[0], path, c[2])
				return res.StatusCode, strings.ReplaceAll(text, value, "ID"), q.take()
			}
			status, text, queries := send(f.theirs)
			status2, text2, queries2 := send(f.nobodys)
			require.Equal(t, status2, status, "%s: %s", c[1], f.kind)
			require.Equal(t, text2, text, "%s: %s", c[1], f.kind)
			require.Equal(t, queries2, queries, "%s: %s", c[1], f.kind)
			if c[0] != http.MethodGet {
				require.GreaterOrEqual(t, status, 400)
			}
		}
	}
}
