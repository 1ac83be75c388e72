package devlogin

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
)

// spent is a code or a refresh token that was used, and the sign-in that it goes
// back to.
type spent struct {
	family string
	until  time.Time
}

// maxSpent bounds what is remembered of them. Beyond it, one that is sent again
// is refused as before, and ends nothing.
const maxSpent = 10 * maxOpen

// spend remembers a use. The caller holds the lock.
func (s *storage) spend(what, family string) {
	if what == "" || family == "" {
		return
	}
	now := time.Now()
	if len(s.spent) >= maxSpent {
		for old, u := range s.spent {
			if now.After(u.until) {
				delete(s.spent, old)
			}
		}
	}
	if len(s.spent) < maxSpent {
		s.spent[what] = spent{family, now.Add(refreshLasts)}
	}
}

// replayed ends all that goes back to the sign-in of what was used before. The
// caller holds the lock.
func (s *storage) replayed(what string) {
	used, ok := s.spent[what]
	if !ok {
		return
	}
	for token, g := range s.refresh {
		if g.family == used.family {
			delete(s.refresh, token)
		}
	}
}

// mayFetch reports whether the client of a request for tokens may be looked up.
// One whose id is an address is only for a grant that it has: the endpoint
// answers the pages of every origin, which could otherwise have it ask any
// address, and see what comes of it.
func (s *storage) mayFetch(r *http.Request) bool {
	id := r.Form.Get("client_id")
	if basic, _, ok := r.BasicAuth(); ok {
		var err error
		if id, err = url.QueryUnescape(basic); err != nil { // RFC 6749 §2.3.1
			return false
		}
	}
	if !strings.Contains(id, "://") {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch oidc.GrantType(r.Form.Get("grant_type")) {
	case oidc.GrantTypeCode:
		code := r.Form.Get("code")
		s.replayed(code)
		req := s.requests[s.codes[code]]
		return req != nil && req.ClientID == id
	case oidc.GrantTypeRefreshToken:
		token := r.Form.Get("refresh_token")
		s.replayed(token)
		g := s.refresh[token]
		return g != nil && g.client == id
	}
	return false
}
