package access

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/mcpclient"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/run"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// process has a step for an agent, then one for the group of finance.
const process = `---
name: onboarding
description: Screen, then agree.
steps:
  - { id: screen, agent: Screen. }
  - { id: agree, person: role, approve: Agree. }
  - { id: done, finish: done }
---
The body.
`

// as is whoever has a token.
type as struct {
	token string
	mcp   *mcpclient.Client
}

type world struct {
	t *testing.T
	*Server
}

func start(t *testing.T, adjust ...func(*server.Options)) world {
	t.Helper()
	w := world{t, Start(t, adjust...)}
	w.Publish(process, map[string]string{"role": "finance"})
	return w
}

// in is the same world for a subtest.
func (w world) in(t *testing.T) world { return world{t, w.Server} }

func (w world) with(token string) as {
	w.t.Helper()
	c, err := mcpclient.Dial(context.Background(), w.URL+"/mcp", token)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = c.Close() })
	return as{token, c}
}

func (w world) call(a as, tool string, args Args) mcpclient.Result {
	w.t.Helper()
	r, err := a.mcp.Call(context.Background(), tool, args)
	require.NoError(w.t, err, tool)
	return r
}

// outcome is ok, or the code of a refusal.
func outcome(r mcpclient.Result) string {
	if r.OK {
		return "ok"
	}
	return string(r.Error.Code)
}

// http sends a request; the token may be empty.
func (w world) http(token, method, path, body string) (*http.Response, string) {
	w.t.Helper()
	url := path
	if strings.HasPrefix(path, "/") {
		url = w.URL + path
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, url, strings.NewReader(body))
	require.NoError(w.t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	return res, string(text)
}

// posted is a tool called by plain HTTP, for tokens that open no session.
func (w world) posted(token, tool string, args Args) (*http.Response, string) {
	w.t.Helper()
	var body bytes.Buffer
	require.NoError(w.t, json.NewEncoder(&body).Encode(Args{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": Args{"name": tool, "arguments": args},
	}))
	return w.http(token, http.MethodPost, "/mcp", body.String())
}

// startRun starts a run whose step is ready.
func (w world) startRun() string {
	w.t.Helper()
	return Must[run.View](w.Server, Mira, "start_run", Args{"process": "onboarding", "inputs": Args{}, "requestId": ID()}).Run.ID
}

func (w world) claim(id, runID string) string {
	w.t.Helper()
	return Must[run.ClaimView](w.Server, id, "claim", Args{"runId": runID, "stepId": "screen", "requestId": ID()}).Token
}

// asked is a run whose approval is open, and the item.
func (w world) asked() (string, run.WorkItem) {
	w.t.Helper()
	id := w.startRun()
	Must[run.View](w.Server, A1, "submit", Args{"token": w.claim(A1, id), "output": Args{}, "summary": "Done.", "requestId": ID()})
	return id, w.item(id)
}

// escalated is a run whose step was handed to the operators, and the item.
func (w world) escalated() (string, run.WorkItem) {
	w.t.Helper()
	id := w.startRun()
	Must[run.View](w.Server, A1, "escalate", Args{"token": w.claim(A1, id), "note": "Beyond me.", "requestId": ID()})
	return id, w.item(id)
}

func (w world) item(runID string) run.WorkItem {
	w.t.Helper()
	v := Must[run.View](w.Server, Lena, "get_run", Args{"runId": runID})
	require.Len(w.t, v.WorkItems, 1)
	return v.WorkItems[0]
}

// over is a run that has ended.
func (w world) over() string {
	w.t.Helper()
	id := w.startRun()
	Must[run.View](w.Server, Boss, "cancel", Args{"runId": id, "reason": "Enough.", "requestId": ID()})
	return id
}

func decideArgs(runID string, item run.WorkItem, decision string) Args {
	a := Args{"runId": runID, "workItemId": item.ID, "snapshot": item.Snapshot, "decision": decision, "requestId": ID()}
	if decision != "approved" && decision != "completed" {
		a["note"] = "Because."
	}
	return a
}

func parse(t *testing.T, text string) *identity.Directory {
	t.Helper()
	d, err := identity.ParseDirectory([]byte(text))
	require.NoError(t, err)
	return d
}

func read[T any](t *testing.T, data json.RawMessage) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal(data, &v), "%s", data)
	return v
}
