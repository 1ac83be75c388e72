package mcpclient

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
)

type exchangeKey struct{}

// exchange is what one call and its HTTP request tell each other.
type exchange struct {
	tool       string
	structured json.RawMessage
}

// exact adds the credential to requests, and keeps the SDK from reading user data
// into doubles: it fails on 1e400, on the way out (it then finds no name for its
// header) as on the way in (structured content).
type exact struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (e *exact) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+e.token)
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return e.next.RoundTrip(r)
	}
	if r.Header.Get("Mcp-Method") != "" {
		r.Header.Set("Mcp-Name", x.tool)
	}
	resp, err := e.next.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK || !isJSON(resp.Header) {
		return resp, err // an event stream is the SDK's to read
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it has been read
	if err != nil {
		return nil, err
	}
	x.structured, body = takeStructured(body)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, nil
}

func isJSON(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// takeStructured takes the structured content out of a JSON-RPC response; one
// without any stays as it is.
func takeStructured(body []byte) (structured json.RawMessage, rest []byte) {
	var response, result map[string]json.RawMessage
	if json.Unmarshal(body, &response) != nil || json.Unmarshal(response["result"], &result) != nil {
		return nil, body
	}
	structured, ok := result["structuredContent"]
	if !ok {
		return nil, body
	}
	delete(result, "structuredContent")
	var err error
	if response["result"], err = json.Marshal(result); err != nil {
		return nil, body
	}
	if rest, err = json.Marshal(response); err != nil {
		return nil, body
	}
	return structured, rest
}
