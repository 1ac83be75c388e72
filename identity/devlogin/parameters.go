package devlogin

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

var errRepeated = errors.New("a parameter must not be given twice")

// parameters are those of a request that may be one of OAuth's: each once (RFC
// 6749 §3.1), but for `resource` (RFC 8707 §2), and under their exact names. The
// library would take the last of several, and names in any case, so that what is
// checked here would not be what it goes by.
func parameters(given url.Values) (url.Values, error) {
	kept := url.Values{}
	for name, values := range given {
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" {
			continue // not known, and so ignored
		}
		if len(values) > 1 && name != "resource" {
			return nil, errRepeated
		}
		kept[name] = values
	}
	return kept, nil
}

// onlyToLogin passes answers on, but for redirects to anywhere else than the page
// to sign in at: whoever has registered an address must not be able to have a
// browser sent there by a link to this server, before its user has said anything
// (RFC 9700 §4.11).
type onlyToLogin struct {
	http.ResponseWriter
	refused bool
}

// WriteHeader implements http.ResponseWriter.
func (w *onlyToLogin) WriteHeader(status int) {
	to := w.Header().Get("Location")
	if to != "" && !strings.HasPrefix(to, "/login?id=") {
		w.refused = true
		w.Header().Del("Location")
		w.Header().Del("Content-Type")
		refuse(w.ResponseWriter, "invalid_request", "the request cannot be granted: "+errorOf(to))
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *onlyToLogin) Write(p []byte) (int, error) {
	if w.refused {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// errorOf is the error code that a redirect would have carried.
func errorOf(to string) string {
	if u, err := url.Parse(to); err == nil {
		if code := u.Query().Get("error"); code != "" {
			return code
		}
	}
	return "it was refused"
}

// allows reports whether a client may be answered at an address: one that it
// named, or the same with another port where that is one of loopback (RFC 8252
// §7.3), and in nothing else different.
func (m metadata) allows(address string) bool {
	got, err := url.Parse(address)
	if err != nil {
		return false
	}
	for _, text := range m.RedirectURIs {
		if address == text {
			return true
		}
		own, err := url.Parse(text)
		if err != nil || own.Scheme != "http" || !isLoopback(own.Hostname()) || own.Hostname() != got.Hostname() {
			continue
		}
		own.Host = got.Host
		if own.String() == address {
			return true
		}
	}
	return false
}
