package server

import (
	"io"
	"net/http"
)

// unreadBytes is how much of the body of a request that was refused early is
// still read: more than any upload that the default limit allows, so that the
// usual mistakes get their answer. Timeouts.Read bounds it, too.
const unreadBytes = 64 << 20

// readToTheEnd reads, and throws away, what a handler left of a request's body,
// once the answer is on its way.
//
// An upload with an expired token, or one that is too large, is refused before it
// is read. A server that then closes the connection resets it, and most clients
// lose the answer while they are still sending: they see neither the challenge
// that tells them to renew the token nor how large a file may be.
func readToTheEnd(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Who says that there is more than that is not waited for. Who asked first
		// whether to send has not begun, and reads the answer.
		if r.ContentLength == 0 || r.ContentLength > unreadBytes || r.Header.Get("Expect") != "" {
			next.ServeHTTP(w, r)
			return
		}
		body := &watched{ReadCloser: r.Body}
		r.Body = body
		next.ServeHTTP(w, r)
		if !body.ended && http.NewResponseController(w).Flush() == nil {
			_, _ = io.CopyN(io.Discard, body, unreadBytes) // whatever comes of it, the answer is sent
		}
	})
}

// watched is a body that knows whether it was read to its end, or as far as it
// can be.
type watched struct {
	io.ReadCloser
	ended bool
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err != nil
	return n, err
}
