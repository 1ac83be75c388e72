package bearer

import (
	"net/http"
	"strings"
)

// Scoped tells a person whose request next refuses with 403 which scopes would
// have been enough (RFC 6750 §3.1, `insufficient_scope`), so that a client can
// ask for them; scopes may return none, where groups decide. An agent is told
// nothing: no scope makes it a person. It stands behind [Guard.Protect].
func (g Guard) Scoped(next http.Handler, scopes func(*http.Request) []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if caller, ok := From(r.Context()); ok && caller.IsPerson() {
			w = &scoped{ResponseWriter: w, challenge: func() {
				var more []string
				if names := scopes(r); len(names) > 0 {
					more = []string{"scope", strings.Join(names, " ")}
				}
				g.challenge(w, "insufficient_scope", more...)
			}}
		}
		next.ServeHTTP(w, r)
	})
}

type scoped struct {
	http.ResponseWriter
	challenge func()
}

// WriteHeader implements http.ResponseWriter.
func (s *scoped) WriteHeader(status int) {
	if status == http.StatusForbidden {
		s.challenge()
	}
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (s *scoped) Unwrap() http.ResponseWriter { return s.ResponseWriter }
