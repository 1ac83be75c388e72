package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/bearer"
	"github.com/agentprocess-temporal/server/internal/mcpclient"
	"github.com/agentprocess-temporal/server/mcp"
	"github.com/agentprocess-temporal/server/run"
)

// The protocol versions of MCP that tests speak: the newest one, the last ones
// with a handshake, the last one with batches.
const (
	newest     = "2026-07-28"
	handshake  = "2025-11-25"
	structured = "2025-06-18"
	batches    = "2025-03-26"
)

// ops is the other side of the seam.
type ops func(ctx context.Context, caller identity.Caller, tool string, args json.RawMessage) (json.RawMessage, *run.Error)

func (f ops) Call(ctx context.Context, caller identity.Caller, tool string, args json.RawMessage) (json.RawMessage, *run.Error) {
	return f(ctx, caller, tool, args)
}

// echo returns the arguments as data.
func echo(_ context.Context, _ identity.Caller, _ string, args json.RawMessage) (json.RawMessage, *run.Error) {
	return args, nil
}

// refuse returns an error that names every case of its type.
func refuse(context.Context, identity.Caller, string, json.RawMessage) (json.RawMessage, *run.Error) {
	return nil, run.Refuse(run.Conflict, "Another agent <holds> this step.", "claimed_by_other")
}

// names takes a token for the subject that it names.
type names struct{}

func (names) Verify(_ context.Context, token string) (identity.Caller, time.Time, error) {
	return identity.Caller{Org: "acme", Subject: token, Kind: identity.Agent}, time.Now().Add(time.Hour), nil
}

// serve starts a server on loopback and returns its endpoint.
func serve(t *testing.T, f ops, opts mcp.Options) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/mcp", bearer.Middleware(names{}, mcp.New(f, opts)))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

func dial(t *testing.T, url, token string) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Dial(t.Context(), url, token)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// message is a JSON-RPC response, read without the SDK.
type message struct {
	JSONRPC string `json:"jsonrpc"`
	ID      any    `json:"id"`
	Result  struct {
		ProtocolVersion   string                  `json:"protocolVersion"`
		SupportedVersions []string                `json:"supportedVersions"`
		Instructions      string                  `json:"instructions"`
		Capabilities      json.RawMessage         `json:"capabilities"`
		Tools             []json.RawMessage       `json:"tools"`
		Content           []struct{ Text string } `json:"content"`
		StructuredContent json.RawMessage         `json:"structuredContent"`
		IsError           bool                    `json:"isError"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) message(t *testing.T) message {
	t.Helper()
	var m message
	require.NoError(t, json.Unmarshal([]byte(r.body), &m), r.body)
	return m
}

// request builds a JSON-RPC request of a protocol version as its clients do.
// params is an object without its closing brace, so that `_meta` can follow.
func request(version, method, name, params string) func(*http.Request) {
	if params == "" {
		params = `{"x":0`
	}
	if version == newest {
		params += `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + newest + `","io.modelcontextprotocol/clientCapabilities":{}}`
	}
	body := `{"jsonrpc":"2.0","id":"one","method":"` + method + `","params":` + params + `}}`
	return func(r *http.Request) {
		if version != "" {
			r.Header.Set("Mcp-Protocol-Version", version)
		}
		if version == newest {
			r.Header.Set("Mcp-Method", method)
			if name != "" {
				r.Header.Set("Mcp-Name", name)
			}
		}
		content(body)(r)
	}
}

// toolCall is a tools/call request.
func toolCall(version, tool, args string) func(*http.Request) {
	return request(version, "tools/call", tool, `{"name":"`+tool+`","arguments":`+args)
}

func content(body string) func(*http.Request) {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	}
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// send sends one HTTP request without any help of an SDK.
func send(t *testing.T, method, url string, with ...func(*http.Request)) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer a1")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, f := range with {
		f(r)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return reply{resp.StatusCode, resp.Header, string(body)}
}
