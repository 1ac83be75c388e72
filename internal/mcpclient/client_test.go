package mcpclient_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/mcpclient"
	"github.com/agentprocess-temporal/server/run"
)

// server answers every tool call with a result written by hand, as plain JSON or
// as an event stream, and remembers the last arguments.
type server struct {
	result string
	stream bool
	args   json.RawMessage
	token  string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var call struct {
		ID     json.RawMessage
		Method string
		Params struct{ Arguments json.RawMessage }
	}
	if err != nil || r.Method != http.MethodPost || json.Unmarshal(body, &call) != nil {
		http.Error(w, "unexpected", http.StatusMethodNotAllowed)
		return
	}
	s.token = r.Header.Get("Authorization")
	result := `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
	if call.Method == "tools/call" {
		if r.Header.Get("Mcp-Name") == "" {
			http.Error(w, "no name", http.StatusBadRequest)
			return
		}
		result, s.args = s.result, call.Params.Arguments
	}
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, result)
	if call.Method == "tools/call" && s.stream {
		w.Header().Set("Content-Type", "text/event-stream")
		answer = "event: message\ndata: " + answer + "\n\n"
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	_, _ = io.WriteString(w, answer) // the client would miss it
}

func start(t *testing.T, s *server) *mcpclient.Client {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	c, err := mcpclient.Dial(t.Context(), h.URL, "secret")
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// result is a tool result with a text and structured content.
func result(text, structured string, isError bool) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"structuredContent":%s,"isError":%t}`, quoted, structured, isError)
}

func TestNothingIsRoundedEitherWay(t *testing.T) {
	s := &server{}
	c := start(t, s)
	for _, value := range []string{`12345678901234567890.123456789012345678901234567890`, `1e400`, `-0.10`, `9007199254740993`} {
		data := `{"n":` + value + `}`
		envelope := `{"ok":true,"data":` + data + `}`
		s.result = result(envelope, envelope, false)
		got, err := c.Call(t.Context(), "get_run", json.RawMessage(data))
		require.NoError(t, err)
		require.Equal(t, mcpclient.Result{OK: true, Data: json.RawMessage(data)}, got)
		require.Equal(t, data, string(s.args))
		require.Equal(t, "Bearer secret", s.token)
	}
}

func TestAnEventStreamIsReadToo(t *testing.T) {
	envelope := `{"ok":true,"data":12345678901234567890.123456789}`
	got, err := start(t, &server{stream: true, result: result(envelope, envelope, false)}).Call(t.Context(), "describe", nil)
	require.NoError(t, err)
	require.Equal(t, `12345678901234567890.123456789`, string(got.Data))
}

func TestARefusalIsAResult(t *testing.T) {
	envelope := `{"ok":false,"error":{"code":"stale","message":"m","issues":["a"]}}`
	got, err := start(t, &server{result: result(envelope, envelope, true)}).Call(t.Context(), "renew", map[string]any{"token": "x"})
	require.NoError(t, err)
	require.Equal(t, mcpclient.Result{Error: run.Refuse(run.Stale, "m", "a")}, got)
}

func TestAResultThatContradictsItselfIsAnError(t *testing.T) {
	ok, refused := `{"ok":true,"data":1.0}`, `{"ok":false,"error":{"code":"stale","message":"m"}}`
	for name, c := range map[string]struct{ result, want string }{
		"isError beside ok":          {result(ok, ok, true), "isError"},
		"a refusal without isError":  {result(refused, refused, false), "isError"},
		"other structured content":   {result(ok, `{"ok":true,"data":2}`, false), "differ"},
		"a number written otherwise": {result(ok, `{"ok":true,"data":1}`, false), "differ"},
		"no structured content":      {`{"content":[{"type":"text","text":"{\"ok\":true,\"data\":1}"}]}`, "no structured content"},
		"no text":                    {`{"content":[],"structuredContent":` + ok + `}`, "0 pieces"},
		"text that is not JSON":      {result(`ok`, ok, false), "text content"},
		"ok without data":            {result(`{"ok":true}`, `{"ok":true}`, false), "has data"},
		"data and an error":          {result(`{"ok":false,"data":1,"error":{}}`, `{"ok":false,"data":1,"error":{}}`, true), "has data"},
	} {
		_, err := start(t, &server{result: c.result}).Call(t.Context(), "describe", nil)
		require.ErrorContains(t, err, c.want, name)
	}
}
