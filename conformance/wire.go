package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The MCP revisions that the client opens a session with, and the one that has
// no sessions, tried when a server knows no `initialize`.
const (
	sessionVersion   = "2025-06-18"
	stateless        = "2026-07-28"
	maxAnswer        = 64 << 20
	callTimeout      = 90 * time.Second
	maxPages         = 100
	methodNotFound   = -32601
	protocolMetaKeys = "io.modelcontextprotocol/"
)

var clientInfo = map[string]any{"name": "agentprocess-conformance", "version": "1"}

// wire is an MCP client for one token. It never decodes what it carries, so that
// every digit arrives as it was sent. It is safe for use by many goroutines.
type wire struct {
	url, token string
	http       *http.Client
	session    string
	version    string
	id         atomic.Int64
}

// rpcError is an error of JSON-RPC, below the protocol's own.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("JSON-RPC error %d: %s", e.Code, e.Message) }

// httpError is an answer with another status than 200.
type httpError struct {
	status int
	body   string
}

func (e *httpError) Error() string {
	return fmt.Sprintf("HTTP %d: %s", e.status, clip(strings.Join(strings.Fields(e.body), " "), 200))
}

// dial opens a session.
func dial(ctx context.Context, transport http.RoundTripper, url, token string) (*wire, error) {
	w := &wire{url: url, token: token, version: sessionVersion, http: &http.Client{Transport: transport}}
	params := map[string]any{"protocolVersion": sessionVersion, "capabilities": map[string]any{}, "clientInfo": clientInfo}
	result, header, err := w.post(ctx, "initialize", "", mustEncode(params), true)
	var refused *rpcError
	if errors.As(err, &refused) && refused.Code != 0 {
		w.version = stateless
		if _, _, again := w.post(ctx, "server/discover", "", mustEncode(w.meta(map[string]any{})), true); again == nil {
			return w, nil
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	var hello struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(result, &hello); err != nil || hello.ProtocolVersion == "" {
		return nil, errors.New("the answer to initialize names no protocolVersion")
	}
	w.version, w.session = hello.ProtocolVersion, header.Get("Mcp-Session-Id")
	_, _, err = w.post(ctx, "notifications/initialized", "", []byte(`{}`), false)
	return w, err
}

func (w *wire) meta(params map[string]any) map[string]any {
	if w.version == stateless {
		params["_meta"] = map[string]any{
			protocolMetaKeys + "protocolVersion":    stateless,
			protocolMetaKeys + "clientInfo":         clientInfo,
			protocolMetaKeys + "clientCapabilities": map[string]any{},
		}
	}
	return params
}

// tools are the names that tools/list gives.
func (w *wire) tools(ctx context.Context) ([]string, error) {
	var names []string
	cursor := ""
	for range maxPages {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		raw, _, err := w.post(ctx, "tools/list", "", mustEncode(w.meta(params)), true)
		if err != nil {
			return nil, err
		}
		var page struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
			NextCursor string `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		for _, t := range page.Tools {
			names = append(names, t.Name)
		}
		if cursor = page.NextCursor; cursor == "" {
			return names, nil
		}
	}
	return nil, fmt.Errorf("tools/list has more than %d pages", maxPages)
}

// call calls a tool and returns the text of `{ok, …}`.
func (w *wire) call(ctx context.Context, tool string, args json.RawMessage) (json.RawMessage, error) {
	params := map[string]any{"name": tool, "arguments": args}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	raw, _, err := w.post(ctx, "tools/call", tool, mustEncode(w.meta(params)), true)
	if err != nil {
		return nil, err
	}
	var result struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, fmt.Errorf("the result is no tool result: %w", err)
	}
	var text json.RawMessage
	for _, c := range result.Content {
		if c.Type == "text" && json.Valid([]byte(c.Text)) && strings.HasPrefix(strings.TrimSpace(c.Text), "{") {
			text = json.RawMessage(c.Text)
			break
		}
	}
	structured := result.StructuredContent
	switch {
	case len(structured) == 0 || string(structured) == "null":
		structured = text
	case text != nil:
		a, errA := parse(text)
		b, errB := parse(structured)
		if errA == nil && errB == nil {
			if d := difference("", a.X, b.X); d != "" {
				return nil, fmt.Errorf("the text and the structured content of the result differ: %s", d)
			}
		}
	}
	if structured == nil {
		return nil, fmt.Errorf("the result has neither structured content nor JSON text: %s", clip(string(raw), 200))
	}
	return structured, nil
}

// post sends one message and returns the result of the answer.
func (w *wire) post(ctx context.Context, method, name string, params json.RawMessage, wantsAnswer bool) (json.RawMessage, http.Header, error) {
	message := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	id := w.id.Add(1)
	if wantsAnswer {
		message["id"] = id
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(mustEncode(message)))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if w.token != "" {
		req.Header.Set("Authorization", "Bearer "+w.token)
	}
	if method != "initialize" {
		req.Header.Set("MCP-Protocol-Version", w.version)
	}
	if w.session != "" {
		req.Header.Set("Mcp-Session-Id", w.session)
	}
	if w.version == stateless {
		req.Header.Set("Mcp-Method", method)
		if name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	}
	res, err := w.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = res.Body.Close() }() // read only: nothing to lose
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if !wantsAnswer && res.StatusCode/100 == 2 {
		return nil, res.Header, nil
	}
	var body []byte
	if media == "text/event-stream" {
		body, err = fromEvents(res.Body, id)
	} else {
		body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	}
	if err != nil {
		return nil, nil, err
	}
	var answer struct {
		JSONRPC string          `json:"jsonrpc"`
		Result  json.RawMessage `json:"result"`
		Error   *rpcError       `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.JSONRPC != "2.0" {
		if res.StatusCode != http.StatusOK {
			return nil, nil, &httpError{res.StatusCode, string(body)}
		}
		return nil, nil, fmt.Errorf("the answer is no JSON-RPC: %s", clip(string(body), 120))
	}
	if answer.Error != nil {
		return nil, nil, answer.Error
	}
	return answer.Result, res.Header, nil
}

// fromEvents reads an event stream up to the answer with the id.
func fromEvents(r io.Reader, id int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxAnswer)) // the stream ends with the answer
	if err != nil && len(raw) == 0 {
		return nil, err
	}
	for _, event := range strings.Split(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n\n") {
		var data strings.Builder
		for _, line := range strings.Split(event, "\n") {
			if rest, ok := strings.CutPrefix(line, "data:"); ok {
				data.WriteString(strings.TrimPrefix(rest, " "))
			}
		}
		var head struct {
			ID json.RawMessage `json:"id"`
		}
		if json.Unmarshal([]byte(data.String()), &head) == nil && string(head.ID) == strconv.FormatInt(id, 10) {
			return []byte(data.String()), nil
		}
	}
	return nil, errors.New("the event stream ended without the answer")
}
