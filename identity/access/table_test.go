package access

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity/idptest"
	"github.com/agentprocess-temporal/server/internal/payloadcodec"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/schemas"
)

const tableDirectory = `organization: acme
agents: [a1, a2, { name: limited, processes: [something-else] }]
people:
  - { email: mira@example.com, groups: [finance] }
  - { email: omar@example.com, groups: [finance, ops] }
  - { email: lena@example.com }
  - { email: ops@example.com, operator: true, publisher: true }
`

// callers are the columns of the table, in its words.
var callers = map[string]idptest.Claims{
	"Agent":         {"org": "acme", "azp": "a2", "sub": "a2"},
	"Limited agent": {"org": "acme", "azp": "limited", "sub": "limited"},
	"Agent with a person's sign-in": {
		"org": "acme", "azp": "some-mcp-client", "sub": "u1", "email": "omar@example.com",
		"groups": []string{"finance"}, "scope": "operate publish",
	},
	"Person":       {"org": "acme", "azp": HumanClient, "sub": "u2", "email": "lena@example.com"},
	"Person asked": {"org": "acme", "azp": HumanClient, "sub": "u3", "email": "mira@example.com", "groups": []string{"finance"}},
	"Operator":     {"org": "acme", "azp": HumanClient, "sub": "u4", "email": "oper@example.com", "scope": "operate"},
	"Publisher":    {"org": "acme", "azp": HumanClient, "sub": "u5", "email": "pub@example.com", "scope": "publish"},
	// The rights of all of them, for somewhere else.
	"No good token": {"org": "acme", "azp": HumanClient, "sub": "u6", "email": "ops@example.com", "scope": "operate publish",
		"groups": []string{"finance"}, "aud": "https://other.test/mcp"},
}

// situation makes one call of the table: everything about it is right, but
// perhaps who makes it. It returns what to call, anew for each caller.
type situation struct {
	tool string
	args func(w world, a as) Args
	// method, path and body are of a call over HTTP instead.
	http func(w world) (method, path, body string)
}

func nothing(world, as) Args { return Args{} }

func others(more Args) func(world, as) Args {
	return func(w world, _ as) Args { return tokenArgs(w.claim(A1, w.startRun()), more) }
}

func own(more Args) func(world, as) Args {
	return func(w world, a as) Args {
		if a.mcp == nil {
			return tokenArgs("AQJrMQ", more)
		}
		r := w.call(a, "claim", Args{"runId": w.startRun(), "stepId": "screen", "requestId": ID()})
		require.True(w.t, r.OK, "%v", r.Error)
		return tokenArgs(read[run.ClaimView](w.t, r.Data).Token, more)
	}
}

func tokenArgs(token string, more Args) Args {
	a := Args{"token": token, "requestId": ID()}
	for k, v := range more {
		a[k] = v
	}
	return a
}

func draft(name string) string {
	return "---\nname: " + name + "\ndescription: X.\nsteps:\n  - { id: agree, person: role, approve: Agree. }\n  - { id: done, finish: done }\n---\nX.\n"
}

var situations = map[string]situation{
	"`describe`":       {tool: "describe", args: nothing},
	"`list_processes`": {tool: "list_processes", args: nothing},
	"`list_runs`":      {tool: "list_runs", args: nothing},
	"`get_work`":       {tool: "get_work", args: nothing},
	"`start_run`": {tool: "start_run", args: func(world, as) Args {
		return Args{"process": "onboarding", "inputs": Args{}, "requestId": ID()}
	}},
	"`get_run`": {tool: "get_run", args: func(w world, _ as) Args { return Args{"runId": w.startRun()} }},
	"`claim`": {tool: "claim", args: func(w world, _ as) Args {
		return Args{"runId": w.startRun(), "stepId": "screen", "requestId": ID()}
	}},
	"`renew` its own claim":          {tool: "renew", args: own(nil)},
	"`renew` another's claim":        {tool: "renew", args: others(nil)},
	"`submit` its own claim":         {tool: "submit", args: own(Args{"output": Args{}, "summary": "Done."})},
	"`submit` another's claim":       {tool: "submit", args: others(Args{"output": Args{}, "summary": "Done."})},
	"`escalate` its own claim":       {tool: "escalate", args: own(Args{"note": "Beyond me."})},
	"`escalate` another's claim":     {tool: "escalate", args: others(Args{"note": "Beyond me."})},
	"`decide` what a group is asked": {tool: "decide", args: func(w world, _ as) Args { id, item := w.asked(); return decideArgs(id, item, "approved") }},
	"`decide` what was escalated":    {tool: "decide", args: func(w world, _ as) Args { id, item := w.escalated(); return decideArgs(id, item, "failed") }},
	"`cancel`":                       {tool: "cancel", args: func(w world, _ as) Args { return Args{"runId": w.startRun(), "reason": "Enough.", "requestId": ID()} }},
	"`send_event`":                   {tool: "send_event", args: func(w world, _ as) Args { return Args{"runId": w.startRun(), "name": "paid", "requestId": ID()} }},
	"`upload`":                       {tool: "upload", args: func(world, as) Args { return uploadArgs() }},
	"`GET /api/processes`":           {http: func(world) (string, string, string) { return "GET", "/api/processes", "" }},
	"`POST /api/processes`":          {http: func(world) (string, string, string) { return "POST", "/api/processes", draft("another") }},
	"`PUT /api/processes/{name}/roles`": {http: func(world) (string, string, string) {
		return "PUT", "/api/processes/onboarding/roles", `{"role":"finance"}`
	}},
	"`POST /api/processes/{name}/publish`": {http: func(world) (string, string, string) { return "POST", "/api/processes/onboarding/publish", "" }},
	"`GET /api/processes/{name}/checks`":   {http: func(world) (string, string, string) { return "GET", "/api/processes/onboarding/checks", "" }},
	"`POST /codec/encode`":                 {http: func(world) (string, string, string) { return "POST", "/codec/encode", `{"payloads":[]}` }},
	"`POST /codec/decode`":                 {http: func(world) (string, string, string) { return "POST", "/codec/decode", `{"payloads":[]}` }},
	"`DELETE /api/runs/{runId}`":           {http: func(w world) (string, string, string) { return "DELETE", "/api/runs/" + w.over(), "" }},
	"`GET /api/audit`":                     {http: func(world) (string, string, string) { return "GET", "/api/audit", "" }},
	"`GET /files/{id}` by its link":        {http: func(w world) (string, string, string) { return "GET", w.fileLink(), "" }},
}

func TestTheTableOfWhoMayCallWhatHolds(t *testing.T) {
	columns, rows := table(t)
	keys, err := payloadcodec.ParseKeys("k1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, payloadcodec.KeyBytes)))
	require.NoError(t, err)
	w := start(t, func(o *server.Options) { o.Directory, o.PayloadKeys = parse(t, tableDirectory), keys })
	w.Publish(evidenceProcess, nil)
	require.Len(t, rows, len(situations), "every line of the table is a situation, and the other way round")
	walked := map[string]bool{}
	for _, column := range columns {
		claims, ok := callers[column]
		require.True(t, ok, column)
		t.Run(column, func(t *testing.T) {
			w := w.in(t)
			a := as{token: w.TokenWith(claims)}
			if column != "No good token" {
				a = w.with(a.token)
			}
			for _, row := range rows {
				s, ok := situations[row.call]
				require.True(t, ok, row.call)
				walked[s.tool] = true
				want := row.cells[column]
				if want == "-" {
					continue
				}
				require.Equal(t, want, s.carriedOut(w, a), row.call)
			}
		})
	}
	for _, tool := range schemas.Tools() {
		require.True(t, walked[tool], "the table says nothing of %s", tool)
	}
}

// carriedOut makes the call, and says yes, no or 401.
func (s situation) carriedOut(w world, a as) string {
	w.t.Helper()
	if s.http != nil {
		method, path, body := s.http(w)
		res, text := w.http(a.token, method, path, body)
		return w.cell(res, text)
	}
	args := s.args(w, a)
	if a.mcp == nil {
		res, text := w.posted(a.token, s.tool, args)
		return w.cell(res, text)
	}
	switch got := outcome(w.call(a, s.tool, args)); got {
	case "ok":
		return "yes"
	case string(run.Forbidden):
		return "no"
	default:
		return got
	}
}

func (w world) cell(res *http.Response, text string) string {
	w.t.Helper()
	switch {
	case res.StatusCode < 300:
		return "yes"
	case res.StatusCode == http.StatusForbidden:
		require.Contains(w.t, text, `"forbidden"`)
		return "no"
	case res.StatusCode == http.StatusUnauthorized:
		require.Contains(w.t, res.Header.Get("WWW-Authenticate"), `error="invalid_token"`)
		return "401"
	}
	return res.Status + " " + text
}

type row struct {
	call  string
	cells map[string]string
}

// table reads the table of docs/identity.md.
func table(t *testing.T) (columns []string, rows []row) {
	t.Helper()
	text, err := os.ReadFile("../../docs/identity.md")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		cells := regexp.MustCompile(`\s*\|\s*`).Split(strings.Trim(strings.TrimSpace(line), "| "), -1)
		if cells[0] == "Call" {
			columns = cells[1:]
			continue
		}
		if columns == nil {
			continue
		}
		require.Len(t, cells, len(columns)+1, line)
		r := row{cells[0], map[string]string{}}
		for i, column := range columns {
			require.Contains(t, []string{"yes", "no", "401", "-"}, cells[i+1], line)
			r.cells[column] = cells[i+1]
		}
		rows = append(rows, r)
	}
	require.NotEmpty(t, rows)
	return columns, rows
}

const evidenceProcess = `---
name: evidence
description: A file.
steps:
  - { id: work, agent: Work., evidence: [file] }
  - { id: done, finish: done }
---
X.
`

// fileLink is a link to evidence, as who reads the run gets it.
func (w world) fileLink() string {
	w.t.Helper()
	id := Must[run.View](w.Server, A1, "start_run", Args{"process": "evidence", "inputs": Args{}, "requestId": ID()}).Run.ID
	token := Must[run.ClaimView](w.Server, A1, "claim", Args{"runId": id, "stepId": "work", "requestId": ID()}).Token
	file := Must[struct{ ID string }](w.Server, A1, "upload", uploadArgs()).ID
	v := Must[run.View](w.Server, A1, "submit", Args{
		"token": token, "output": Args{}, "summary": "Done.", "evidence": []Args{{"kind": "file", "ref": file}}, "requestId": ID(),
	})
	require.Len(w.t, v.Data.Steps["work"].Evidence, 1)
	return v.Data.Steps["work"].Evidence[0].URL
}

func uploadArgs() Args {
	return Args{
		"fileName": "a.txt", "contentType": "text/plain", "contentBase64": base64.StdEncoding.EncodeToString([]byte("x")), "requestId": ID(),
	}
}
