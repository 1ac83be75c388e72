package conformance_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

type object = map[string]any

// exchange is one call of a tool on its way through the proxy.
type exchange struct {
	tool  string
	args  object
	token string
	// answer is the envelope that the server gave, once it was asked.
	answer object
	ask    func()
}

func (x *exchange) ok() bool { return x.answer["ok"] == true }

// data is the data of an answer that is ok, else nil.
func (x *exchange) data() object { d, _ := x.answer["data"].(object); return d }

// fault is the error of a refusal, else nil.
func (x *exchange) fault() object { e, _ := x.answer["error"].(object); return e }

func (x *exchange) refuse(code string, issues ...any) {
	e := object{"code": code, "message": "refused by a mutant"}
	if len(issues) > 0 {
		e["issues"] = issues
	}
	x.answer = object{"ok": false, "error": e}
}

func (x *exchange) accept(data object) { x.answer = object{"ok": true, "data": data} }

// view is the run view of the answer, else nil.
func (x *exchange) view() object {
	if d := x.data(); d != nil && d["workItems"] != nil {
		return d
	}
	return nil
}

// is tells whether the answer is a refusal with a code and, if given, an issue.
func (x *exchange) is(code string, issue ...string) bool {
	e := x.fault()
	if e == nil || e["code"] != code {
		return false
	}
	if len(issue) == 0 {
		return true
	}
	for _, i := range list(e["issues"]) {
		if i == issue[0] {
			return true
		}
	}
	return false
}

func list(x any) []any { l, _ := x.([]any); return l }

func obj(x any) object { o, _ := x.(object); return o }

// proxy stands in front of a server and breaks one rule. Break sees every call; it
// must ask the server itself, or answer for it.
type proxy struct {
	target string
	broken func(p *proxy, x *exchange)
	// tokens are bearer tokens by name, to call as somebody else.
	tokens map[string]string

	mu     sync.Mutex
	memory map[string]any
	url    string
}

func newProxy(t *testing.T, target string, tokens map[string]string, broken func(*proxy, *exchange)) *proxy {
	t.Helper()
	p := &proxy{target: target, broken: broken, tokens: tokens, memory: map[string]any{}}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

func (p *proxy) remember(key string, value any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memory[key] = value
}

func (p *proxy) recall(key string) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.memory[key]
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var message object
	if decode(body, &message) != nil || message["method"] != "tools/call" {
		res := p.forward(r, r.Header.Get("Authorization"), body)
		for k, v := range res.header {
			w.Header()[k] = v
		}
		w.WriteHeader(res.status)
		_, _ = w.Write(res.body)
		return
	}
	params := obj(message["params"])
	x := &exchange{tool: params["name"].(string), args: obj(params["arguments"]), token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}
	if x.args == nil {
		x.args = object{}
	}
	var outer response
	x.ask = func() {
		params["arguments"] = x.args
		outer = p.forward(r, "Bearer "+x.token, encode(message))
		x.answer = structured(outer.body)
	}
	p.broken(p, x)
	if x.answer == nil {
		w.WriteHeader(outer.status)
		_, _ = w.Write(outer.body)
		return
	}
	envelope := encode(x.answer)
	result := object{"content": []any{object{"type": "text", "text": string(envelope)}}, "structuredContent": json.RawMessage(envelope), "isError": x.answer["ok"] != true}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(object{"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

type response struct {
	status int
	header http.Header
	body   []byte
}

func (p *proxy) forward(r *http.Request, authorization string, body []byte) response {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, p.target, bytes.NewReader(body))
	if err != nil {
		return response{status: http.StatusBadGateway}
	}
	for _, k := range []string{"Content-Type", "Accept", "Mcp-Session-Id", "Mcp-Protocol-Version"} {
		if v := r.Header.Get(k); v != "" {
			req.Header.Set(k, v)
		}
	}
	if authorization != r.Header.Get("Authorization") {
		req.Header.Del("Mcp-Session-Id") // a session has one caller
	}
	req.Header.Set("Authorization", authorization)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return response{status: http.StatusBadGateway}
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return response{status: http.StatusBadGateway}
	}
	return response{res.StatusCode, res.Header, text}
}

// again asks the server something else, as the same caller or another.
func (p *proxy) again(token, tool string, args object) *exchange {
	other := &exchange{tool: tool, args: args, token: token}
	message := object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": tool, "arguments": args}}
	req := httptest.NewRequest(http.MethodPost, p.target, nil)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	other.answer = structured(p.forward(req, "Bearer "+token, encode(message)).body)
	return other
}

// structured is the envelope in the answer of a tool call, or nil.
func structured(body []byte) object {
	var answer object
	if decode(body, &answer) != nil {
		return nil
	}
	return obj(obj(answer["result"])["structuredContent"])
}

func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}

func encode(x any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(x); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// walkValues visits every value and puts what visit returns in its place.
func walkValues(x any, visit func(any) any) any {
	switch c := x.(type) {
	case object:
		for k, v := range c {
			c[k] = walkValues(v, visit)
		}
	case []any:
		for i, v := range c {
			c[i] = walkValues(v, visit)
		}
	}
	return visit(x)
}

func clone(x object) object {
	var out object
	if err := decode(encode(x), &out); err != nil {
		panic(err)
	}
	return out
}

func TestAProxyThatBreaksNothingChangesNothing(t *testing.T) {
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"ok":true,"data":{"n":1e400}}}}`)
	}))
	defer back.Close()
	p := newProxy(t, back.URL, nil, func(_ *proxy, x *exchange) { x.ask() })
	res, err := http.Post(p.url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"describe"}}`)) //nolint:noctx // a test
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), `"structuredContent":{"data":{"n":1e400},"ok":true}`)
	require.Contains(t, string(body), `"id":7`)
}
