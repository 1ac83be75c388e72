package server

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/audit"
	"github.com/agentprocess-temporal/server/identity/bearer"
	"github.com/agentprocess-temporal/server/identity/guard"
	"github.com/agentprocess-temporal/server/identity/trust"
	"github.com/agentprocess-temporal/server/internal/runtoken"
)

// directoryEvery is how often the directory's files are looked at.
const directoryEvery = 2 * time.Second

// newPeople puts together who is known. Development tokens carry what a person
// may do; where issuers are configured, so is that.
func newPeople(o Options) *identity.People {
	p := &identity.People{Policy: identity.Policy{From: identity.Claims}, Directories: o.Directories}
	if o.Trust != nil {
		p.Policy = o.Trust.People
	}
	if p.Directories == nil {
		p.Directories = identity.NewRegistry(o.Directory)
	}
	return p
}

// proofLasts is how long a credential that was proved is not proved again.
const proofLasts = time.Second

// newVerifier takes the tokens of the trusted issuers, and development tokens if
// there is a key for them.
func (s *Server) newVerifier() identity.Verifier {
	var development identity.Verifier
	if s.opts.TokenKey != nil {
		development = identity.NewVerifier(s.opts.Issuer, s.opts.Audience, s.opts.TokenKey)
	}
	trusted := func(string) identity.Verifier { return nil }
	if s.opts.Trust != nil {
		v := trust.New(s.opts.Trust, trust.Options{Log: s.opts.Log})
		trusted = func(issuer string) identity.Verifier {
			if v.Trusts(issuer) {
				return v
			}
			return nil
		}
	}
	return s.people.Verifier(identity.Remember(identity.Dispatch(trusted, development), proofLasts))
}

// newDoor lets in who has a good token.
func (s *Server) newDoor() bearer.Guard {
	door := bearer.Guard{Verifier: s.newVerifier(), Refused: s.auditRefusals()}
	if s.opts.Trust != nil {
		door.Metadata = bearer.MetadataURL(s.opts.Trust.Resource)
		door.Scope = s.opts.Trust.Scope
	}
	return door
}

// What is logged of refused credentials, at most: whoever guesses must not be
// able to fill the database.
const (
	refusalsPerSecond = 5
	refusalsAtOnce    = 100
	auditWithin       = 2 * time.Second
)

// auditRefusals logs the requests whose credential is turned away.
func (s *Server) auditRefusals() func(r *http.Request, code string) {
	bucket := rate.NewLimiter(refusalsPerSecond, refusalsAtOnce)
	return func(r *http.Request, code string) {
		if !bucket.Allow() {
			return
		}
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			host = r.RemoteAddr
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), auditWithin)
		defer cancel()
		err = audit.Insert(ctx, s.pool, audit.Entry{Remote: host, Action: r.Method + " " + r.URL.Path, Result: code})
		if err != nil {
			s.opts.Log.ErrorContext(ctx, "cannot write the audit log", "error", err)
		}
	}
}

func (s *Server) newGuard() *guard.Guard {
	return guard.New(s.service, guard.Options{
		DB: s.pool, Replayed: s.telemetry.Replayed, Buckets: guard.NewBuckets(s.opts.Rate.PerSecond, s.opts.Rate.Burst), Log: s.opts.Log,
		RunOf: func(org, token string) string {
			claims, _, _ := runtoken.Parse(s.opts.Keys, org, token)
			return claims.RunID
		},
	})
}

// describeResource serves the protected resource metadata (RFC 9728), where
// there are issuers to name: at the address that challenges point to, and at the
// root for clients that look there.
func (s *Server) describeResource(mux *http.ServeMux) {
	if s.opts.Trust == nil {
		return
	}
	m := bearer.Metadata{
		Resource: s.opts.Trust.Resource, ScopesSupported: s.opts.Trust.Scopes(), ResourceName: "Agent Process",
	}
	for _, i := range s.opts.Trust.Issuers {
		m.AuthorizationServers = append(m.AuthorizationServers, i.URL)
	}
	mux.Handle(bearer.MetadataPath, m.Handler())
	mux.Handle(bearer.MetadataPath+"/mcp", m.Handler())
	if u, err := url.Parse(bearer.MetadataURL(m.Resource)); err == nil && u.Path != bearer.MetadataPath && u.Path != bearer.MetadataPath+"/mcp" {
		mux.Handle(u.Path, m.Handler())
	}
}

// harden sets what every answer carries, and refuses what a page that a browser
// was lured to may send to a server on the same machine.
func (s *Server) harden(next http.Handler) http.Handler {
	public := s.publicHosts()
	secure := strings.HasPrefix(s.opts.PublicURL, "https:")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		if secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if rebound(r, public) {
			http.Error(w, "this host is not served here", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// rebound reports whether a request that reached a loopback address is for a
// host that is not on this machine: how DNS rebinding looks.
func rebound(r *http.Request, public []string) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	host, _, err := net.SplitHostPort(local.String())
	if err != nil || !isLoopback(host) {
		return false
	}
	for _, name := range public {
		if r.Host == name {
			return false
		}
	}
	name := r.Host
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	}
	return !isLoopback(strings.Trim(name, "[]"))
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
