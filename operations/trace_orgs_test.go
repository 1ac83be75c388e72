package operations_test

import (
	"maps"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

// Callers of another organization, with every right there and the names of
// callers here.
var (
	otherAgent = identity.Caller{Org: "other", Subject: "a1", Kind: identity.Agent}
	otherBoss  = identity.Caller{Org: "other", Subject: "mira@example.com", Kind: identity.Person, Groups: []string{"finance"}, Operator: true, Publisher: true}
)

func traceOrganizations(w world) {
	open, done := w.toApproval(), w.over()
	item := w.item(open)
	claimed := w.start("one-step", nil)
	token := w.claim(A1, claimed, "work").Token
	file := w.upload(A1, "secret")

	w.run("what another organization has is answered like what nobody has", func(w world) {
		unknown := map[string]string{open: "r_unknown", done: "r_unknown", claimed: "r_unknown", token: "AQJrMQ", "screening": "unknown"}
		for _, caller := range []identity.Caller{otherAgent, otherBoss} {
			for _, c := range []struct {
				tool string
				args Args
			}{
				{"get_run", Args{"runId": open}},
				{"get_run", Args{"runId": done}},
				{"claim", Args{"runId": claimed, "stepId": "work"}},
				{"renew", Args{"token": token}},
				{"submit", submitArgs(token, Args{})},
				{"escalate", Args{"token": token, "note": "x"}},
				{"decide", decideArgs(open, item, "approved")},
				{"cancel", Args{"runId": open, "reason": "x"}},
				{"cancel", Args{"runId": done, "reason": "x"}},
				{"send_event", Args{"runId": open, "name": "x"}},
				{"send_event", Args{"runId": open, "name": "x", "data": Args{"x": string(make([]byte, 200<<10))}}},
				{"start_run", Args{"process": "screening", "inputs": Args{"vendor": "x"}}},
				{"start_run", Args{"process": "screening", "version": 1, "inputs": Args{"vendor": "x"}}},
			} {
				none := maps.Clone(c.args)
				for k, v := range none {
					if s, ok := v.(string); ok && unknown[s] != "" {
						none[k] = unknown[s]
					}
				}
				if c.tool != "get_run" {
					c.args["requestId"], none["requestId"] = ID(), ID()
				}
				theirs, nobodys := w.as(caller, c.tool, c.args), w.as(caller, c.tool, none)
				require.False(w.t, theirs.OK, c.tool)
				require.Equal(w.t, nobodys.Error, theirs.Error, c.tool)
				require.Contains(w.t, []run.Code{run.NotFound, run.Invalid}, theirs.Error.Code)
			}
		}
	})
	w.run("lists show nothing of another organization", func(w world) {
		for _, caller := range []identity.Caller{otherAgent, otherBoss} {
			for _, c := range []struct {
				tool string
				args Args
			}{
				{"get_work", Args{}},
				{"get_work", Args{"process": "screening"}},
				{"list_runs", Args{}},
				{"list_runs", Args{"process": "screening", "inputs": Args{"vendor": "Acme"}}},
				{"list_processes", Args{}},
			} {
				r := w.as(caller, c.tool, c.args)
				require.True(w.t, r.OK)
				require.JSONEq(w.t, `{"items":[],"nextCursor":null}`, string(r.Data), c.tool)
			}
		}
	})
	w.run("a requestId of one organization is free in another", func(w world) {
		args := uploadArgs("ours")
		w.ok(A1, "upload", args)
		r := w.as(otherAgent, "upload", args)
		require.True(w.t, r.OK, "%v", r.Error)
		require.Equal(w.t, string(r.Data), string(w.as(otherAgent, "upload", args).Data))
	})
	w.run("a process of the same name is another process, and a file of elsewhere is not found", func(w world) {
		publish := func(method, path, body string) {
			status, answer := w.httpAs(otherBoss, method, path, body)
			require.Less(w.t, status, 300, answer)
		}
		publish("POST", "/api/processes", document("screening", "", "  - { id: work, agent: Work., evidence: [file] }\n  - { id: done, finish: theirs }"))
		publish("POST", "/api/processes/screening/publish", "")
		r := w.as(otherBoss, "start_run", Args{"process": "screening", "inputs": Args{}, "requestId": ID()})
		require.True(w.t, r.OK, "%v", r.Error)
		theirs := read[run.View](w.t, r.Data).Run.ID
		require.Equal(w.t, 1, read[run.View](w.t, r.Data).Run.Version)
		w.refused(run.NotFound, Boss, "get_run", Args{"runId": theirs})
		w.refused(run.NotFound, Boss, "cancel", Args{"runId": theirs, "reason": "x", "requestId": ID()})
		require.Empty(w.t, w.agentWork(A1, theirs))
		r = w.as(otherAgent, "claim", Args{"runId": theirs, "stepId": "work", "requestId": ID()})
		require.True(w.t, r.OK, "%v", r.Error)
		r = w.as(otherAgent, "submit", submitArgs(read[run.ClaimView](w.t, r.Data).Token, Args{}, Args{"evidence": []Args{{"kind": "file", "ref": file}}}))
		require.Equal(w.t, []string{"evidence " + file + ": not found"}, r.Error.Issues)
	})
	w.run("nothing of it changed anything here", func(w world) {
		w.ok(A1, "submit", submitArgs(token, Args{}))
		w.ok(Mira, "decide", decideArgs(open, w.item(open), "approved"))
	})
}
