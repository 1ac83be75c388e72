package operations_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

type listedRun struct {
	ID, Process, State string
	Version            int
	Outcome            *string
	Inputs             json.RawMessage
}

func traceLists(w world) {
	w.s.Publish(document("paged", "{ i: number, tag: { type: string, optional: true } }", `  - { id: work, agent: Work. }
  - { id: agree, person: role, approve: Agree. }
  - { id: done, finish: agreed }`), map[string]string{"role": "finance"})
	w.s.Publish(document("paged-other", "", "  - { id: work, agent: Work. }\n  - { id: done, finish: done }"), nil)
	var ids []string
	for i := range 9 {
		ids = append(ids, w.start("paged", Args{"i": i}))
	}
	w.start("paged-other", nil)

	w.run("get_work is ordered by readySince, and a page goes on behind the last whatever changed", func(w world) {
		var seen []string
		args := Args{"process": "paged", "limit": 2}
		for page := 0; ; page++ {
			p := read[struct {
				Items      []run.AgentWork
				NextCursor *string
			}](w.t, w.ok(A1, "get_work", args))
			require.LessOrEqual(w.t, len(p.Items), 2)
			for _, item := range p.Items {
				seen = append(seen, item.RunID)
			}
			switch page {
			case 0: // one that was shown goes, one that was not goes, one comes
				w.claim(A1, ids[0], "work")
				w.claim(A1, ids[4], "work")
				ids = append(ids, w.start("paged", Args{"i": 9}))
			case 1: // the last that was shown goes
				w.claim(A1, seen[len(seen)-1], "work")
			}
			if p.NextCursor == nil {
				break
			}
			args["cursor"] = *p.NextCursor
		}
		require.Equal(w.t, []string{ids[0], ids[1], ids[2], ids[3], ids[5], ids[6], ids[7], ids[8], ids[9]}, seen)
	})
	w.run("get_work of a person pages likewise", func(w world) {
		for _, i := range []int{1, 2, 5} {
			w.ok(A2, "submit", submitArgs(w.claim(A2, ids[i], "work").Token, Args{}))
		}
		var seen []string
		pages(w, Omar, "get_work", Args{"process": "paged", "limit": 1}, func(item run.PersonWork) { seen = append(seen, item.RunID) })
		require.Equal(w.t, []string{ids[1], ids[2], ids[5]}, seen)
		require.Empty(w.t, w.personWork(Lena, ids[1]))
		pages(w, A1, "get_work", Args{"process": "nothing"}, func(run.AgentWork) { w.t.Fatal("of no such process") })
		pages(w, A1, "get_work", Args{"process": "\x00"}, func(run.AgentWork) { w.t.Fatal("of no such process") })
	})
	w.run("an item is the exact call to make", func(w world) {
		item := w.agentWork(A1, ids[6])[0]
		require.Equal(w.t, run.ClaimCall{Tool: "claim", Arguments: run.ClaimArguments{RunID: ids[6], StepID: "work", RequestID: "<new UUID>"}}, item.Claim)
		require.Nil(w.t, item.Due)
		require.False(w.t, item.Overdue)
	})
	w.run("a limit out of 1 to 100, and a cursor of elsewhere, are invalid", func(w world) {
		for _, limit := range []any{0, 101, -1, "5", 1.5, nil} {
			w.refusedAs(run.Invalid, A1, "get_work", Args{"limit": limit}, "limit:")
			w.refusedAs(run.Invalid, A1, "list_runs", Args{"limit": limit}, "limit:")
		}
		for _, cursor := range []string{"x", "====", "bnVsbA=", "AAAA", strings.Repeat("A", 10000)} {
			for _, tool := range []string{"get_work", "list_runs", "list_processes"} {
				w.refusedAs(run.Invalid, A1, tool, Args{"cursor": cursor}, "cursor:")
			}
		}
		var work, runs struct{ NextCursor string }
		require.NoError(w.t, json.Unmarshal(w.ok(A1, "get_work", Args{"limit": 1}), &work))
		require.NoError(w.t, json.Unmarshal(w.ok(A1, "list_runs", Args{"limit": 1}), &runs))
		w.ok(A1, "get_work", Args{"cursor": work.NextCursor})
		w.ok(A1, "list_runs", Args{"cursor": runs.NextCursor})
		for tool, cursors := range map[string][]string{
			"get_work": {runs.NextCursor}, "list_runs": {work.NextCursor}, "list_processes": {runs.NextCursor, work.NextCursor},
		} {
			for _, cursor := range append(cursors, "e30", "bnVsbA") { // {} and null
				w.refusedAs(run.Invalid, A1, tool, Args{"cursor": cursor}, "cursor:")
			}
		}
		w.ok(A1, "get_work", Args{"limit": json.RawMessage("1e2")})
		w.ok(A1, "get_work", Args{"limit": json.RawMessage("5.0")})
	})
	w.run("list_runs filters by process, state and any input, and pages", func(w world) {
		list := func(args Args) []string {
			var found []string
			pages(w, Lena, "list_runs", args, func(r listedRun) { found = append(found, r.ID) })
			return found
		}
		require.Len(w.t, list(Args{"process": "paged", "limit": 3}), 10)
		require.Equal(w.t, ids[9], list(Args{"process": "paged"})[0], "the last started first")
		require.ElementsMatch(w.t, []string{ids[1], ids[2], ids[5]}, list(Args{"process": "paged", "state": "waiting"}))
		require.Empty(w.t, list(Args{"process": "paged", "state": "ended"}))
		w.decide(Mira, ids[1], "approved")
		w.ok(Boss, "cancel", Args{"runId": ids[2], "reason": "x", "requestId": ID()})
		require.Equal(w.t, []string{ids[1]}, list(Args{"process": "paged", "state": "ended"}))
		require.Equal(w.t, []string{ids[2]}, list(Args{"process": "paged", "state": "cancelled"}))
		require.Equal(w.t, []string{ids[3]}, list(Args{"inputs": Args{"i": 3}, "process": "paged"}))
		require.Empty(w.t, list(Args{"inputs": Args{"i": "3"}, "process": "paged"}))
		require.Empty(w.t, list(Args{"inputs": Args{"i": 3, "tag": "x"}, "process": "paged"}))
		require.Empty(w.t, list(Args{"inputs": Args{"unheard": 1}}))
		require.Empty(w.t, list(Args{"process": "\x00"}))
		require.Len(w.t, list(Args{"process": "paged", "inputs": Args{}}), 10)
		w.refusedAs(run.Invalid, Lena, "list_runs", Args{"state": "done"}, "state:")
		w.refusedAs(run.Invalid, Lena, "list_runs", Args{"inputs": []any{}}, "inputs:")
		one := read[struct{ Items []listedRun }](w.t, w.ok(Lena, "list_runs", Args{"process": "paged", "state": "ended"})).Items[0]
		require.Equal(w.t, "agreed", *one.Outcome)
		require.Equal(w.t, `{"i":1}`, string(one.Inputs))
	})
	w.run("list_runs compares numbers by value, to the last digit", func(w world) {
		w.s.Publish(document("amounts", "{ amount: number, o: { type: object, optional: true } }", "  - { id: work, agent: Work. }\n  - { id: done, finish: done }"), nil)
		long := "1234567890123456789012345678901234567890"
		for _, n := range []string{"48000", "48000.0", "4.8e4", "48000.0000000000000000000001", long, long[:39] + "1"} {
			w.start("amounts", json.RawMessage(`{"amount":`+n+`,"o":{"a":[`+n+`]}}`))
		}
		for n, count := range map[string]int{"48000": 3, "48000.00": 3, "480e2": 3, "48000.0000000000000000000001": 1, long: 1, "48000.1": 0, "1e400": 0} {
			for _, inputs := range []string{`{"amount":` + n + `}`, `{"o":{"a":[` + n + `]}}`} {
				found := read[struct{ Items []listedRun }](w.t, w.ok(Lena, "list_runs", Args{"process": "amounts", "inputs": json.RawMessage(inputs)}))
				require.Len(w.t, found.Items, count, inputs)
			}
		}
	})
	w.run("list_processes pages, by name, the latest version of each, with what it requires", func(w world) {
		for i := range 22 {
			source := document(fmt.Sprintf("zz-%02d", i), "{ n: { type: number, description: How many } }", "  - { id: work, agent: Work. }\n  - { id: done, finish: done }")
			w.s.Publish(strings.Replace(source, "steps:", "requires: { systems: [crm, mail] }\nsteps:", 1), nil)
		}
		w.s.Publish(document("zz-03", "", "  - { id: work, agent: Other work. }\n  - { id: done, finish: done }"), nil)
		type listed struct {
			Name, Description string
			Version           int
			Inputs            json.RawMessage
			Requires          *struct{ Systems []string }
		}
		byName, last := map[string]listed{}, ""
		pages(w, Lena, "list_processes", Args{}, func(p listed) {
			require.Less(w.t, last, p.Name)
			last, byName[p.Name] = p.Name, p
		})
		require.Equal(w.t, []string{"crm", "mail"}, byName["zz-00"].Requires.Systems)
		require.JSONEq(w.t, `{"n":{"type":"number","description":"How many"}}`, string(byName["zz-21"].Inputs))
		require.Equal(w.t, 2, byName["zz-03"].Version)
		require.Nil(w.t, byName["zz-03"].Requires)
		require.Equal(w.t, `{}`, string(byName["zz-03"].Inputs))
	})
	w.run("describe says what is offered", func(w world) {
		d := read[struct {
			Protocol, Version string
			Profiles, Tools   []string
			LeaseSeconds      int
			Person            map[string]string
			MaxUploadBytes    int
		}](w.t, w.ok(A1, "describe", nil))
		require.Equal(w.t, "agentprocess", d.Protocol)
		require.Equal(w.t, "core-2", d.Version)
		require.NotContains(w.t, d.Profiles, "check-1")
		require.Len(w.t, d.Tools, 14)
		require.Equal(w.t, 600, d.LeaseSeconds)
		require.Equal(w.t, map[string]string{"format": "email"}, d.Person)
		require.Equal(w.t, 10<<20, d.MaxUploadBytes)
	})
}
