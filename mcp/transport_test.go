package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/mcp"
	"github.com/agentprocess-temporal/server/run"
)

// try sends a request and returns only how it failed.
func try(ctx context.Context, url string, with ...func(*http.Request)) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer a1")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, f := range with {
		f(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func TestEveryVersionOfMCPIsServed(t *testing.T) {
	url := serve(t, echo, mcp.Options{Version: "1.2.3"})
	for _, version := range []string{handshake, structured, batches} {
		r := send(t, "POST", url, request("", "initialize", "",
			`{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"x","version":"1"}`))
		require.Equal(t, http.StatusOK, r.status)
		require.Empty(t, r.header.Get("Mcp-Session-Id"), "a stateless server has no sessions")
		m := r.message(t)
		require.Equal(t, version, m.Result.ProtocolVersion)
		require.JSONEq(t, `{"tools":{}}`, string(m.Result.Capabilities))
		require.Contains(t, m.Result.Instructions, "get_work")
		r = send(t, "POST", url, header("Mcp-Protocol-Version", version), content(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		require.Equal(t, http.StatusAccepted, r.status)
		require.Equal(t, http.StatusOK, send(t, "POST", url, request(version, "ping", "", "")).status)
	}
	m := send(t, "POST", url, request(newest, "server/discover", "", "")).message(t)
	require.Equal(t, newest, m.Result.SupportedVersions[0])
	require.JSONEq(t, `{"tools":{}}`, string(m.Result.Capabilities))
	require.Contains(t, m.Result.Instructions, "get_work")

	client := dial(t, url, "a1")
	require.Equal(t, newest, client.Session().InitializeResult().ProtocolVersion)
}

func TestOnlyPOSTIsServed(t *testing.T) {
	url := serve(t, echo, mcp.Options{})
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		r := send(t, method, url, header("Mcp-Session-Id", "x"))
		require.Equal(t, http.StatusMethodNotAllowed, r.status, method)
		require.Equal(t, "POST", r.header.Get("Allow"), method)
	}
}

func TestWhatIsNoCallIsAProtocolError(t *testing.T) {
	url := serve(t, echo, mcp.Options{})
	for name, c := range map[string]struct {
		with         func(*http.Request)
		status, code int
	}{
		"an unknown tool, newest version":  {toolCall(newest, "vanish", `{}`), 400, -32602},
		"an unknown tool, older version":   {toolCall(handshake, "vanish", `{}`), 200, -32602},
		"an unknown method, newest":        {request(newest, "tools/vanish", "", ""), 404, -32601},
		"a header that names another tool": {request(newest, "tools/call", "claim", `{"name":"describe","arguments":{}`), 400, -32020},
		"a subscription":                   {request(newest, "subscriptions/listen", "", `{"notifications":{"toolsListChanged":true}`), 404, -32601},
		"no JSON":                          {content(`{"jsonrpc"`), 400, -32700},
		"something after the JSON":         {content(`{"jsonrpc":"2.0","id":1,"method":"ping"} x`), 400, -32700},
		"an empty body":                    {content(``), 400, -32700},
	} {
		r := send(t, "POST", url, c.with)
		require.Equal(t, c.status, r.status, "%s: %s", name, r.body)
		m := r.message(t)
		require.NotNil(t, m.Error, name)
		require.Equal(t, c.code, m.Error.Code, name)
	}
	for name, with := range map[string]func(*http.Request){
		"no JSON-RPC":             content(`{"id":1,"method":"ping"}`),
		"no message":              content(`"ping"`),
		"an unknown MCP version":  request("2020-01-01", "ping", "", ""),
		"no streams accepted":     header("Accept", "application/json"),
		"an empty batch":          content(`[]`),
		"an unknown method, none": content(`{"jsonrpc":"2.0","id":1,"method":"vanish"}`),
	} {
		require.Equal(t, http.StatusBadRequest, send(t, "POST", url, content(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), with).status, name)
	}
	r := send(t, "POST", url, content(`{}`), header("Content-Type", "text/plain"))
	require.Equal(t, http.StatusUnsupportedMediaType, r.status)
}

func TestABatchOfAnOldClientIsAnsweredInOne(t *testing.T) {
	url := serve(t, echo, mcp.Options{})
	batch := content(`[` +
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"start_run","arguments":` + startRun("1e400") + `}},` +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"describe"}}]`)
	r := send(t, "POST", url, batch, header("Mcp-Protocol-Version", batches))
	require.Equal(t, http.StatusOK, r.status, r.body)
	var all []message
	require.NoError(t, json.Unmarshal([]byte(r.body), &all))
	texts := map[any]string{}
	for _, m := range all {
		texts[m.ID] = m.Result.Content[0].Text
	}
	require.Equal(t, map[any]string{
		1.0: `{"ok":true,"data":` + startRun("1e400") + `}`,
		2.0: `{"ok":true,"data":{}}`,
	}, texts)

	r = send(t, "POST", url, batch, header("Mcp-Protocol-Version", handshake))
	require.Equal(t, http.StatusBadRequest, r.status)
}

// reader hides the length of a body, so that it is sent in chunks.
type reader struct{ io.Reader }

func TestABodyTooLargeIsRefused(t *testing.T) {
	url := serve(t, echo, mcp.Options{MaxBody: 1 << 20})
	large := func(size int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", size) + `"}}`
	}
	chunked := func(body string) func(*http.Request) {
		return func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(reader{strings.NewReader(body)}), -1 }
	}
	for name, with := range map[string]func(*http.Request){
		"of a known length":    content(large(1 << 20)),
		"of an unknown length": chunked(large(1 << 20)),
		"far over":             content(large(30 << 20)),
		"far over, in chunks":  chunked(large(30 << 20)),
	} {
		r := send(t, "POST", url, with)
		require.Equal(t, http.StatusRequestEntityTooLarge, r.status, name)
		require.Contains(t, r.message(t).Error.Message, "1048576 bytes", name)
	}
	require.Equal(t, http.StatusOK, send(t, "POST", url, content(large(1<<20-100))).status)
	require.Equal(t, http.StatusOK, send(t, "POST", url, chunked(large(1<<20-100))).status)
}

func TestAnUploadOf10MiBGoesThrough(t *testing.T) {
	url := serve(t, func(_ context.Context, _ identity.Caller, _ string, args json.RawMessage) (json.RawMessage, *run.Error) {
		var upload struct{ ContentBase64 []byte }
		if err := json.Unmarshal(args, &upload); err != nil {
			return nil, run.Refuse(run.Invalid, err.Error())
		}
		return json.RawMessage(strconv.Itoa(len(upload.ContentBase64))), nil
	}, mcp.Options{})
	const size = 10 << 20
	result, err := dial(t, url, "a1").Call(t.Context(), "upload", map[string]string{
		"fileName": "f", "contentType": "text/plain", "requestId": "00000000-0000-4000-8000-000000000001",
		"contentBase64": base64.StdEncoding.EncodeToString(make([]byte, size)),
	})
	require.NoError(t, err)
	require.True(t, result.OK, "%+v", result.Error)
	require.Equal(t, strconv.Itoa(size), string(result.Data))
}

func TestABodyLimitHoldsTheUploadItIsMadeFor(t *testing.T) {
	for _, upload := range []int64{0, 1, 10 << 20, 100 << 20} {
		require.Greater(t, mcp.BodyFor(upload), int64(base64.StdEncoding.EncodedLen(int(upload)))+1<<19, upload)
	}
	require.Equal(t, int64(mcp.DefaultMaxBody), mcp.BodyFor(0))
}

func TestAWebPageOfAnotherOriginIsRefused(t *testing.T) {
	url := serve(t, echo, mcp.Options{AllowedOrigins: []string{"https://app.example.com"}})
	own := strings.TrimSuffix(url, "/mcp")
	for origin, status := range map[string]int{
		"https://app.example.com": 200, own: 200, "http://localhost:6274": 200, "http://[::1]:1": 200,
		"https://evil.example.com": 403, "http://app.example.com": 403, "null": 403,
		"http://localhost.example.com": 403, "http://128.0.0.1": 403,
	} {
		require.Equal(t, status, send(t, "POST", url, toolCall(newest, "describe", `{}`), header("Origin", origin)).status, origin)
	}
}

func TestOnLoopbackTheHostMustBeKnown(t *testing.T) {
	url := serve(t, echo, mcp.Options{AllowedHosts: []string{"mcp.example.com"}})
	for host, status := range map[string]int{
		"localhost": 200, "127.0.0.1:99": 200, "mcp.example.com": 200,
		"evil.example.com": 403, "mcp.example.com.evil.example.com": 403,
	} {
		named := func(r *http.Request) { r.Host = host }
		require.Equal(t, status, send(t, "POST", url, toolCall(newest, "describe", `{}`), named).status, host)
	}
}

func TestWithoutAProvedCallerNothingIsServed(t *testing.T) {
	called := false
	s := httptest.NewServer(mcp.New(ops(func(context.Context, identity.Caller, string, json.RawMessage) (json.RawMessage, *run.Error) {
		called = true
		return nil, nil
	}), mcp.Options{}))
	t.Cleanup(s.Close)
	for _, method := range []string{"tools/list", "initialize"} {
		require.Equal(t, http.StatusInternalServerError, send(t, "POST", s.URL, request(handshake, method, "", "")).status)
	}
	require.Equal(t, http.StatusInternalServerError, send(t, "POST", s.URL, toolCall(newest, "describe", "{}")).status)
	require.False(t, called)
}
