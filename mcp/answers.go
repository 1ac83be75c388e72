package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strconv"
)

// carried is what one call takes past the SDK: its arguments in, its result out.
type carried struct {
	args   json.RawMessage
	result json.RawMessage
}

type carriedKey struct{}

// carriedBy returns what the one call of a request carries; nil where
// liftArguments took nothing.
func carriedBy(ctx context.Context) *carried {
	c, _ := ctx.Value(carriedKey{}).(*carried)
	return c
}

// placeholder stands for a result in the SDK's answer. It differs in every
// process, so that nothing a caller sends can be taken for it.
var placeholder = "result-" + rand.Text()

// answer is where the SDK writes the answer to a call. The SDK encodes a result
// four times over, each time as a copy; so it is given a placeholder, and the
// result is put in its place here, once as JSON and once as text.
type answer struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// send sends the answer with the result in it.
func (a *answer) send(result json.RawMessage) {
	body := a.body.Bytes()
	if result != nil {
		body = spliced(body, result)
		a.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	if a.status != 0 {
		a.ResponseWriter.WriteHeader(a.status)
	}
	_, _ = a.ResponseWriter.Write(body) // the client may have left
}

// spliced puts a result in the place of its placeholders: the text of one is
// in the content of an answer, the JSON of the other is its structured content.
func spliced(body []byte, result json.RawMessage) []byte {
	out := bytes.NewBuffer(make([]byte, 0, len(body)+3*len(result)))
	structured := []byte(`"structuredContent":"` + placeholder + `"`)
	mark := []byte(`"` + placeholder + `"`)
	for {
		i := bytes.Index(body, mark)
		if i < 0 {
			out.Write(body)
			return out.Bytes()
		}
		end := i + len(mark)
		out.Write(body[:i])
		if bytes.HasSuffix(body[:end], structured) {
			out.Write(result)
		} else {
			writeText(out, result)
		}
		body = body[end:]
	}
}

// writeText writes JSON as a JSON string.
func writeText(out *bytes.Buffer, value json.RawMessage) {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(string(value)); err != nil {
		panic(err) // a string only
	}
	out.Truncate(out.Len() - 1) // the encoder ends its value with a line end
}
