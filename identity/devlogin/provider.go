package devlogin

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/agentprocess-temporal/server/identity"
)

// CommandLine is the client of `agentprocess login`, and the one human client: a
// token that it gets is a person.
const CommandLine = "agentprocess-cli"

// Options are what a provider needs.
type Options struct {
	// Issuer is the URL under which it is served, on loopback.
	Issuer string
	// Resource is what its tokens are for.
	Resource string
	// Key signs the tokens.
	Key ed25519.PrivateKey
	// Directory says who can sign in, and which agents there are, at each moment.
	Directory func() *identity.Directory
	// Fetch gets client id metadata documents; nil makes one that fetches from
	// HTTPS and from loopback.
	Fetch *http.Client
}

// Provider is the authorization server.
type Provider struct {
	o        Options
	storage  *storage
	provider *op.Provider
	handler  http.Handler
}

// New makes a provider.
func New(o Options) (*Provider, error) {
	s := newStorage(o)
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		return nil, err
	}
	provider, err := op.NewProvider(&op.Config{
		CryptoKey: key, CodeMethodS256: true, AuthMethodPost: true, GrantTypeRefreshToken: true,
		SupportedScopes: []string{"openid", "email", "offline_access"},
	}, s, op.StaticIssuer(o.Issuer), op.WithAllowInsecure(), op.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, fmt.Errorf("authorization server: %w", err)
	}
	p := &Provider{o: o, storage: s, provider: provider}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("/.well-known/oauth-authorization-server", p.discovery)
	mux.HandleFunc("/register", p.register)
	mux.HandleFunc("GET /login", p.showLogin)
	mux.HandleFunc("POST /login", p.login)
	mux.HandleFunc("/authorize", p.authorize)
	mux.HandleFunc("/oauth/token", p.token)
	mux.HandleFunc("/authorize/callback", p.callback)
	mux.HandleFunc("/keys", provider.ServeHTTP)
	p.handler = p.protect(mux)
	return p, nil
}

// ServeHTTP implements http.Handler.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// protect refuses what a page of elsewhere could make a browser send here: names
// that were rebound to this machine, and being shown in a frame.
func (p *Provider) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this host is not served here", http.StatusForbidden)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// maxBody bounds every request, in bytes.
const maxBody = 64 << 10

// discovery is served at both addresses that clients look at.
func (p *Provider) discovery(w http.ResponseWriter, r *http.Request) {
	if openToAll(w, r, http.MethodGet) {
		return
	}
	send(w, http.StatusOK, map[string]any{
		"issuer":                                p.o.Issuer,
		"authorization_endpoint":                p.o.Issuer + "/authorize",
		"token_endpoint":                        p.o.Issuer + "/oauth/token",
		"jwks_uri":                              p.o.Issuer + "/keys",
		"registration_endpoint":                 p.o.Issuer + "/register",
		"response_types_supported":              []string{"code"},
		"response_modes_supported":              []string{"query"},
		"grant_types_supported":                 []string{"authorization_code", "refresh_token", "client_credentials"},
		"code_challenge_methods_supported":      []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic", "client_secret_post"},
		"scopes_supported":                      []string{"openid", "email", "offline_access"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": []string{"EdDSA"},
		"client_id_metadata_document_supported": true,
	})
}

// authorize lets through what OAuth 2.1 asks for and the library does not
// insist on.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		refuse(w, "invalid_request", "the request cannot be read")
		return
	}
	form, err := parameters(r.Form)
	if err != nil {
		refuse(w, "invalid_request", err.Error())
		return
	}
	r.Form = form
	switch {
	case !p.forUs(r.Form):
		refuse(w, "invalid_target", "tokens are issued for "+p.o.Resource+" only")
	case r.Form.Get("response_type") != "code":
		refuse(w, "unsupported_response_type", "only the authorization code flow is offered")
	case r.Form.Get("code_challenge") == "" || r.Form.Get("code_challenge_method") != "S256":
		refuse(w, "invalid_request", "PKCE with S256 is required")
	case r.Form.Has("response_mode") && r.Form.Get("response_mode") != "query":
		refuse(w, "invalid_request", "only the response mode query is offered")
	case r.Form.Has("request"):
		refuse(w, "request_not_supported", "request objects are not taken")
	default:
		// The library refuses a request without scopes; RFC 6749 §3.3 lets the
		// server choose.
		if strings.TrimSpace(r.Form.Get("scope")) == "" {
			r.Form.Set("scope", "openid")
		}
		p.provider.ServeHTTP(&onlyToLogin{ResponseWriter: w}, r)
	}
}

// callback sends the browser back to its application, once somebody has signed
// in.
func (p *Provider) callback(w http.ResponseWriter, r *http.Request) {
	form, err := parameters(r.URL.Query())
	p.storage.mu.Lock()
	req, errOpen := p.storage.open(form.Get("id"))
	done := err == nil && errOpen == nil && req.Done()
	p.storage.mu.Unlock()
	r.Form = form
	if !done {
		http.Error(w, "Nobody has signed in here. Start again in your application.", http.StatusNotFound)
		return
	}
	p.provider.ServeHTTP(w, r)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	if openToAll(w, r, http.MethodPost) {
		return
	}
	if err := r.ParseForm(); err != nil {
		refuse(w, "invalid_request", "the request cannot be read")
		return
	}
	// Of the body alone: an address ends up in logs (RFC 6749 §2.3.1).
	form, err := parameters(r.PostForm)
	if err != nil {
		refuse(w, "invalid_request", err.Error())
		return
	}
	r.Form, r.PostForm = form, form
	switch {
	case !p.forUs(r.Form):
		refuse(w, "invalid_target", "tokens are issued for "+p.o.Resource+" only")
		return
	case !p.storage.mayFetch(r):
		refuse(w, "invalid_grant", "the grant is not of this client, or it is over")
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	p.provider.ServeHTTP(w, r)
}

// forUs reports whether a request asks for tokens for the one resource that
// there is, or for none (RFC 8707).
func (p *Provider) forUs(form url.Values) bool {
	for _, resource := range form["resource"] {
		if resource != p.o.Resource {
			return false
		}
	}
	return true
}

// openToAll lets pages of any origin call, as browser-based MCP clients do. It
// gives them nothing that a program without a browser would not get. It reports
// whether the request has been answered.
func openToAll(w http.ResponseWriter, r *http.Request, method string) bool {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	switch r.Method {
	case method:
		return false
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", method)
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, MCP-Protocol-Version")
		w.WriteHeader(http.StatusNoContent)
	default:
		h.Set("Allow", method+", OPTIONS")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
	return true
}

func send(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc) // the client may have left
}

func refuse(w http.ResponseWriter, code, why string) {
	send(w, http.StatusBadRequest, map[string]string{"error": code, "error_description": why})
}

// How long things last.
const (
	// accessLasts is that of an access token: short, so that refreshing is seen to
	// work, too.
	accessLasts = 15 * time.Minute
	// refreshLasts is that of a refresh token, which each use renews.
	refreshLasts = 30 * 24 * time.Hour
	// requestLasts is the time to sign in, and codeLasts that to redeem a code.
	requestLasts = 10 * time.Minute
)
