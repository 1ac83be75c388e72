package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// liftArguments reads a request's body, at most limit bytes of it, moves the
// arguments of a tool call into the context and leaves `{}` in their place.
//
// Below, the SDK decodes a call several times over to see what it is for, at
// the newest protocol version through doubles, where 1e400 is an error. It now
// does so with a small message, whatever the arguments are, and they stay as they
// came. Batches, which old versions allow, pass unchanged: they are decoded
// without doubles.
func liftArguments(next http.Handler, limit int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		body, err := read(w, r, limit)
		if err != nil {
			var large *http.MaxBytesError
			if errors.As(err, &large) {
				protocolError(w, http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest,
					fmt.Sprintf("the request is larger than %d bytes", limit))
				return
			}
			protocolError(w, http.StatusBadRequest, jsonrpc.CodeParseError, "the request could not be read")
			return
		}
		args, rest, err := lift(body)
		if err != nil {
			protocolError(w, http.StatusBadRequest, jsonrpc.CodeParseError, "the request is not JSON: "+err.Error())
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(rest)), int64(len(rest))
		if args == nil {
			next.ServeHTTP(w, r)
			return
		}
		c, a := &carried{args: args}, &answer{ResponseWriter: w}
		next.ServeHTTP(a, r.WithContext(context.WithValue(r.Context(), carriedKey{}, c)))
		a.send(c.result)
	})
}

// read reads at most limit bytes; one that says it is larger is not begun.
func read(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead) // so that it grows once only
	}
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	return body.Bytes(), err
}

// lift takes the arguments out of a message, if it is a tool call that has some.
// Names are matched exactly, as JSON-RPC wants it.
func lift(body []byte) (args json.RawMessage, rest []byte, err error) {
	var message, params map[string]json.RawMessage
	if err := json.Unmarshal(body, &message); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, nil, err
		}
		return nil, body, nil // JSON, but no object: the SDK says what is wrong
	}
	if string(message["method"]) != `"tools/call"` || json.Unmarshal(message["params"], &params) != nil {
		return nil, body, nil
	}
	args, ok := params["arguments"]
	if !ok {
		return nil, body, nil
	}
	params["arguments"] = json.RawMessage(`{}`)
	if message["params"], err = json.Marshal(params); err != nil {
		return nil, nil, err
	}
	rest, err = json.Marshal(message)
	return args, rest, err
}

// protocolError answers a request that is no call. Its id is not known.
func protocolError(w http.ResponseWriter, status int, code int64, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may have left
		"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": code, "message": message},
	})
}
