package access

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity/bearer"
	"github.com/agentprocess-temporal/server/identity/idptest"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/schemas"
)

// queries notes the queries that calls of one organization cause, in order.
type queries struct {
	mu   sync.Mutex
	org  string
	seen []string
}

func (q *queries) note(ctx context.Context, sql string) {
	c, ok := bearer.From(ctx)
	q.mu.Lock()
	defer q.mu.Unlock()
	// The audit log's own row says who was refused what, whoever that is.
	if ok && c.Org == q.org && !strings.Contains(sql, "INSERT INTO audit") {
		q.seen = append(q.seen, strings.Join(strings.Fields(sql), " "))
	}
}

func (q *queries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	q.note(ctx, d.SQL)
	return ctx
}
func (q *queries) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (q *queries) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	q.note(ctx, "batch")
	return ctx
}
func (q *queries) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	q.note(ctx, d.SQL)
}
func (q *queries) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// take returns what was noted since.
func (q *queries) take() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	seen := q.seen
	q.seen = nil
	return seen
}

// foreignAgent and foreignBoss are of the other organization, with every right
// there and the names that callers have here.
var (
	foreignAgent = idptest.Claims{"org": "other", "azp": "a1", "sub": "a1"}
	foreignBoss  = idptest.Claims{
		"org": "other", "azp": HumanClient, "sub": "u1", "email": "mira@example.com", "groups": []string{"finance"}, "scope": "operate publish",
	}
)

// both starts a server that knows two organizations.
func both(t *testing.T) (world, *queries) {
	q := &queries{org: "other"}
	w := start(t, func(o *server.Options) { o.Tracer = q })
	return w, q
}

func TestNothingOfAnotherOrganizationIsFound(t *testing.T) {
	w, q := both(t)
	asked, item := w.asked()
	escalated, _ := w.escalated()
	ready, over := w.startRun(), w.over()
	token := w.claim(A1, w.startRun())
	file := Must[struct{ ID string }](w.Server, A1, "upload", uploadArgs()).ID
	used := ID() // a requestId of theirs, for a write of theirs
	Must[run.View](w.Server, Mira, "start_run", Args{"process": "onboarding", "inputs": Args{}, "requestId": used})
	w.startRun()
	w.asked()
	cursor := func(who, tool string) string {
		next := Must[struct{ NextCursor *string }](w.Server, who, tool, Args{"limit": 1}).NextCursor
		require.NotNil(t, next, tool)
		return *next
	}

	// What nobody has, in place of each thing that they have.
	nobodys := map[any]any{
		asked: "r_none", escalated: "r_none", ready: "r_none", over: "r_none", token: strings.Repeat("A", len(token)),
		"onboarding": "never-heard-of", file: "f_none", item.ID: "w_none",
	}
	unknown := func(args Args) Args {
		none := maps.Clone(args)
		for k, v := range none {
			if s, ok := v.(string); ok && nobodys[s] != nil {
				none[k] = nobodys[s]
			}
		}
		return none
	}
	tried := map[string]bool{}
	for _, name := range []string{"agent", "boss"} {
		claims := map[string]idptest.Claims{"agent": foreignAgent, "boss": foreignBoss}[name]
		them := w.with(w.TokenWith(claims))
		for _, c := range []struct {
			tool string
			args Args
		}{
			{"get_run", Args{"runId": asked}},
			{"get_run", Args{"runId": over}},
			{"start_run", Args{"process": "onboarding", "inputs": Args{}}},
			{"start_run", Args{"process": "onboarding", "version": 1, "inputs": Args{}}},
			{"claim", Args{"runId": ready, "stepId": "screen"}},
			{"claim", Args{"runId": asked, "stepId": "agree"}},
			{"claim", Args{"runId": over, "stepId": "screen"}},
			{"renew", Args{"token": token}},
			{"submit", Args{"token": token, "output": Args{}, "summary": "x"}},
			{"submit", Args{"token": token, "output": Args{}, "summary": "x", "evidence": []Args{{"kind": "file", "ref": file}}}},
			{"escalate", Args{"token": token, "note": "x"}},
			{"decide", decideArgs(asked, item, "approved")},
			{"decide", decideArgs(escalated, item, "failed")},
			{"decide", decideArgs(over, item, "approved")},
			{"cancel", Args{"runId": asked, "reason": "x"}},
			{"cancel", Args{"runId": over, "reason": "x"}},
			{"send_event", Args{"runId": asked, "name": "x"}},
			{"send_event", Args{"runId": over, "name": "x"}},
		} {
			tried[c.tool] = true
			none := unknown(c.args)
			if c.tool != "get_run" {
				c.args["requestId"], none["requestId"] = ID(), ID()
			}
			q.take()
			foreign := w.call(them, c.tool, c.args)
			asksForeign := q.take()
			nothing := w.call(them, c.tool, none)
			asksNothing := q.take()
			require.False(t, foreign.OK, "%s by %s", c.tool, name)
			require.Equal(t, nothing.Error, foreign.Error, "%s by %s", c.tool, name)
			require.Equal(t, asksNothing, asksForeign, "%s by %s: the same queries", c.tool, name)
			require.Contains(t, []run.Code{run.NotFound, run.Invalid}, foreign.Error.Code, "%s by %s", c.tool, name)
			if foreign.Error.Code == run.NotFound {
				require.NotEmpty(t, asksForeign, "%s by %s: they are seen at all", c.tool, name)
			}
		}
		for _, c := range []struct {
			tool string
			args Args
		}{
			{"get_work", Args{}},
			{"get_work", Args{"process": "onboarding"}},
			{"list_runs", Args{}},
			{"list_runs", Args{"process": "onboarding"}},
			{"list_runs", Args{"cursor": cursor(A1, "list_runs")}},
			{"get_work", Args{"cursor": cursor(A2, "get_work")}},
			{"get_work", Args{"cursor": cursor(Mira, "get_work")}},
			{"list_processes", Args{}},
		} {
			tried[c.tool] = true
			r := w.call(them, c.tool, c.args)
			require.True(t, r.OK, "%v", r.Error)
			require.JSONEq(t, `{"items":[],"nextCursor":null}`, string(r.Data), "%s by %s", c.tool, name)
		}
		// A requestId of another organization is free here, and stays theirs there.
		for _, tool := range []string{"upload"} {
			tried[tool] = true
			args := uploadArgs()
			args["requestId"] = used
			r := w.call(them, tool, args)
			if name == "agent" {
				require.True(t, r.OK, "%v", r.Error)
			} else {
				require.Equal(t, run.Conflict, r.Error.Code, "of a colleague, it is a conflict")
			}
		}
		tried["describe"] = true
		require.True(t, w.call(them, "describe", Args{}).OK)
	}
	missed := slices.DeleteFunc(slices.Clone(schemas.Tools()), func(tool string) bool { return tried[tool] })
	require.Empty(t, missed, "tools that this test leaves out")

	// And nothing of it changed anything here.
	Must[run.View](w.Server, A1, "submit", Args{"token": token, "output": Args{}, "summary": "Done.", "requestId": ID()})
	Must[run.View](w.Server, Mira, "decide", decideArgs(asked, item, "approved"))
	w.claim(A2, ready)
}

func TestTheAPIFindsNothingOfAnotherOrganization(t *testing.T) {
	w, q := both(t)
	over := w.over()
	boss := w.TokenWith(foreignBoss)
	for _, c := range [][4]string{
		{"PUT", "/api/processes/onboarding/roles", "/api/processes/never-heard-of/roles", `{"role":"finance"}`},
		{"POST", "/api/processes/onboarding/publish", "/api/processes/never-heard-of/publish", ""},
		{"DELETE", "/api/runs/" + over, "/api/runs/r_none", ""},
	} {
		q.take()
		foreign, text := w.http(boss, c[0], c[1], c[3])
		asksForeign := q.take()
		nothing, same := w.http(boss, c[0], c[2], c[3])
		require.Equal(t, q.take(), asksForeign, c[1])
		require.Equal(t, http.StatusNotFound, foreign.StatusCode, c[1])
		require.Equal(t, nothing.StatusCode, foreign.StatusCode, c[1])
		require.Equal(t, same, text, c[1])
	}
	_, text := w.http(boss, "GET", "/api/processes", "")
	require.JSONEq(t, `{"ok":true,"data":{"published":[],"drafts":[]}}`, text)
	_, text = w.http(boss, "GET", "/api/audit?caller=mira@example.com&action=start_run", "")
	require.JSONEq(t, `{"ok":true,"data":{"items":[],"next":""}}`, text)
	_, text = w.http(boss, "GET", "/api/audit?run="+over, "")
	require.Contains(t, text, `"org":"other"`, "their own attempts")
	require.NotContains(t, text, `"org":"acme"`)
	Must[run.View](w.Server, Lena, "get_run", Args{"runId": over})
}

func TestGroupsAndPeopleOfAnotherOrganizationAreNotKnown(t *testing.T) {
	w, _ := both(t)
	boss := w.TokenWith(foreignBoss)
	res, text := w.http(boss, "POST", "/api/processes", process)
	require.Equal(t, http.StatusCreated, res.StatusCode, text)
	var said []string
	for _, group := range []string{"finance", "never-heard-of"} {
		res, text = w.http(boss, "PUT", "/api/processes/onboarding/roles", `{"role":"`+group+`"}`)
		require.Equal(t, http.StatusBadRequest, res.StatusCode)
		said = append(said, strings.ReplaceAll(text, group, "GROUP"))
	}
	require.Equal(t, said[1], said[0])

	const asks = "---\nname: asks\ndescription: X.\ninputs: { who: person }\nsteps:\n  - { id: ask, person: inputs.who, approve: Agree. }\n  - { id: done, finish: done }\n---\nX.\n"
	for _, call := range [][2]string{{"/api/processes", asks}, {"/api/processes/asks/publish", ""}} {
		res, text = w.http(boss, "POST", call[0], call[1])
		require.Less(t, res.StatusCode, 300, text)
	}
	them := w.with(boss)
	said = nil
	for _, who := range []string{"lena@example.com", "nobody@example.com"} {
		r := w.call(them, "start_run", Args{"process": "asks", "inputs": Args{"who": who}, "requestId": ID()})
		require.False(t, r.OK)
		require.Equal(t, run.Invalid, r.Error.Code)
		said = append(said, strings.ReplaceAll(strings.Join(r.Error.Issues, ";"), who, "WHO"))
	}
	require.Equal(t, said[1], said[0])
}

func TestALinkToEvidenceIsOfOneFileOfOneOrganization(t *testing.T) {
	w := start(t)
	w.Publish(evidenceProcess, nil)
	link := w.fileLink()
	res, text := w.http("", "GET", link, "")
	require.Equal(t, http.StatusOK, res.StatusCode, text)
	u, err := url.Parse(link)
	require.NoError(t, err)
	var answers []string
	try := func(change func(u *url.URL, v url.Values)) {
		changed, v := *u, u.Query()
		change(&changed, v)
		changed.RawQuery = v.Encode()
		res, text := w.http("", "GET", changed.String(), "")
		require.Equal(t, http.StatusNotFound, res.StatusCode, changed.String())
		answers = append(answers, text)
	}
	try(func(u *url.URL, _ url.Values) { u.Path = "/files/f_none" })
	for name := range u.Query() {
		try(func(_ *url.URL, v url.Values) { v.Del(name) })
		try(func(_ *url.URL, v url.Values) { v.Set(name, "other") })
		try(func(_ *url.URL, v url.Values) { v.Set(name, v.Get(name)+"0") })
	}
	require.GreaterOrEqual(t, len(answers), 7)
	require.Len(t, slices.Compact(answers), 1, "always in the same words")
}
