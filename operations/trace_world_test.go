package operations_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/mcpclient"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/schemas"
)

// world is a server as one test sees it: through the tools only.
type world struct {
	t *testing.T
	*shared
}

// shared is what the subtests of one server share.
type shared struct {
	s  *Server
	mu sync.Mutex
	// foreign are the clients of callers that the directory does not have.
	foreign map[string]*mcpclient.Client
}

func newWorld(t *testing.T, s *Server) world {
	w := world{t, &shared{s: s, foreign: map[string]*mcpclient.Client{}}}
	t.Cleanup(func() {
		for _, c := range w.foreign {
			_ = c.Close()
		}
	})
	return w
}

// run is t.Run with the world of the subtest.
func (w world) run(sentence string, test func(w world)) {
	w.t.Helper()
	w.t.Run(sentence, func(t *testing.T) { test(world{t, w.shared}) })
}

func (w world) call(id, tool string, args any) mcpclient.Result {
	w.t.Helper()
	return w.s.Call(id, tool, args)
}

// ok is the data of a call that must succeed.
func (w world) ok(id, tool string, args any) json.RawMessage {
	w.t.Helper()
	r := w.call(id, tool, args)
	require.True(w.t, r.OK, "%s as %s: %v", tool, id, r.Error)
	return r.Data
}

// refused is a call that must be refused with a code and exactly these issues.
func (w world) refused(code run.Code, id, tool string, args any, issues ...string) {
	w.t.Helper()
	r := w.call(id, tool, args)
	require.False(w.t, r.OK, "%s as %s: %s", tool, id, r.Data)
	require.Equal(w.t, code, r.Error.Code, "%s as %s: %v", tool, id, r.Error)
	if len(issues) == 0 {
		require.Empty(w.t, r.Error.Issues, "%s as %s: %v", tool, id, r.Error)
	} else {
		require.Equal(w.t, issues, r.Error.Issues, "%s as %s: %v", tool, id, r.Error)
	}
}

// refusedAs is refused where the wording of the issues is not at stake: each
// must start as said, in any order.
func (w world) refusedAs(code run.Code, id, tool string, args any, prefixes ...string) {
	w.t.Helper()
	r := w.call(id, tool, args)
	require.False(w.t, r.OK, "%s as %s: %s", tool, id, r.Data)
	require.Equal(w.t, code, r.Error.Code, "%s as %s: %v", tool, id, r.Error)
	require.Len(w.t, r.Error.Issues, len(prefixes), "%v", r.Error)
	for _, p := range prefixes {
		require.Regexp(w.t, `(?m)^`+regexp.QuoteMeta(p), strings.Join(r.Error.Issues, "\n"))
	}
}

// as is a call by any caller, of any organization.
func (w world) as(caller identity.Caller, tool string, args any) mcpclient.Result {
	w.t.Helper()
	w.mu.Lock()
	key := caller.Org + "/" + caller.Subject
	c := w.foreign[key]
	if c == nil {
		var err error
		c, err = mcpclient.Dial(context.Background(), w.s.URL+"/mcp", w.s.TokenOf(caller))
		require.NoError(w.t, err)
		w.foreign[key] = c
	}
	w.mu.Unlock()
	r, err := c.Call(context.Background(), tool, args)
	require.NoError(w.t, err, tool)
	if r.OK {
		require.NoError(w.t, schemas.CheckResult(tool, r.Data), "%s", r.Data)
	}
	return r
}

func read[T any](t testing.TB, data json.RawMessage) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal(data, &v), "%s", data)
	return v
}

func (w world) view(id, tool string, args any) run.View {
	w.t.Helper()
	return read[run.View](w.t, w.ok(id, tool, args))
}

func (w world) get(runID string) run.View {
	w.t.Helper()
	return w.view(Lena, "get_run", Args{"runId": runID})
}

// start starts a run as Mira.
func (w world) start(process string, inputs any) string {
	w.t.Helper()
	if inputs == nil {
		inputs = Args{}
	}
	return w.view(Mira, "start_run", Args{"process": process, "inputs": inputs, "requestId": ID()}).Run.ID
}

func (w world) claim(id, runID, step string) run.ClaimView {
	w.t.Helper()
	return read[run.ClaimView](w.t, w.ok(id, "claim", Args{"runId": runID, "stepId": step, "requestId": ID()}))
}

// submit submits with a summary and a fresh requestId; more adds and overrides.
func submitArgs(token string, output any, more ...Args) Args {
	a := Args{"token": token, "output": output, "summary": "Done.", "requestId": ID()}
	for _, m := range more {
		for k, v := range m {
			a[k] = v
		}
	}
	return a
}

// item is the one open work item of a run.
func (w world) item(runID string) run.WorkItem {
	w.t.Helper()
	v := w.get(runID)
	require.Len(w.t, v.WorkItems, 1)
	return v.WorkItems[0]
}

func decideArgs(runID string, item run.WorkItem, decision string, more ...Args) Args {
	a := Args{"runId": runID, "workItemId": item.ID, "snapshot": item.Snapshot, "decision": decision, "requestId": ID()}
	for _, m := range more {
		for k, v := range m {
			a[k] = v
		}
	}
	return a
}

// decide decides the one open work item of a run.
func (w world) decide(id, runID, decision string, more ...Args) run.View {
	w.t.Helper()
	return w.view(id, "decide", decideArgs(runID, w.item(runID), decision, more...))
}

func (w world) upload(id, content string) string {
	w.t.Helper()
	return read[struct{ ID string }](w.t, w.ok(id, "upload", uploadArgs(content))).ID
}

func uploadArgs(content string) Args {
	return Args{
		"fileName": "report.txt", "contentType": "text/plain",
		"contentBase64": base64.StdEncoding.EncodeToString([]byte(content)), "requestId": ID(),
	}
}

// agentWork is everything that get_work lists for an agent, of one run.
func (w world) agentWork(id, runID string) []run.AgentWork {
	w.t.Helper()
	var of []run.AgentWork
	pages(w, id, "get_work", Args{"limit": 100}, func(item run.AgentWork) {
		if item.RunID == runID {
			of = append(of, item)
		}
	})
	return of
}

func (w world) personWork(id, runID string) []run.PersonWork {
	w.t.Helper()
	var of []run.PersonWork
	pages(w, id, "get_work", Args{"limit": 100}, func(item run.PersonWork) {
		if item.RunID == runID {
			of = append(of, item)
		}
	})
	return of
}

// pages visits every item of every page of a list.
func pages[T any](w world, id, tool string, args Args, visit func(T)) {
	w.t.Helper()
	for {
		p := read[struct {
			Items      []T
			NextCursor *string
		}](w.t, w.ok(id, tool, args))
		for _, item := range p.Items {
			visit(item)
		}
		if p.NextCursor == nil {
			return
		}
		args["cursor"] = *p.NextCursor
	}
}

// eventually polls until what it waits for has happened.
func (w world) eventually(what string, happened func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !happened(); time.Sleep(20 * time.Millisecond) {
		require.True(w.t, time.Now().Before(deadline), "not within 20 s: %s", what)
	}
}

var fileURL = regexp.MustCompile(`"url":"[^"]*"`)

// withoutURLs is a result without what a replay may sign anew.
func withoutURLs(data json.RawMessage) string {
	return string(fileURL.ReplaceAll(data, []byte(`"url":"…"`)))
}

// state is the state of a step in a view, empty where it is null.
func state(v run.View, step string) run.StepState {
	for _, s := range v.Steps {
		if s.ID == step && s.State != nil {
			return *s.State
		}
	}
	return run.StepNone
}

// document writes a PROCESS.md.
func document(name, inputs, steps string) string {
	if inputs != "" {
		inputs = "inputs: " + inputs + "\n"
	}
	return "---\nname: " + name + "\ndescription: A process of the tests.\n" + inputs + "steps:\n" + steps + "\n---\nThe body of " + name + ".\n"
}

// http sends a request to the server's API as an identity.
func (w world) http(id, method, path, body string) (status int, answer string) {
	w.t.Helper()
	caller, ok := w.s.Directory.Caller(id)
	require.True(w.t, ok, id)
	return w.httpAs(caller, method, path, body)
}

func (w world) httpAs(caller identity.Caller, method, path, body string) (status int, answer string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.s.URL+path, strings.NewReader(body))
	require.NoError(w.t, err)
	req.Header.Set("Authorization", "Bearer "+w.s.TokenOf(caller))
	res, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	return res.StatusCode, string(text)
}
