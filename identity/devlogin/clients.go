package devlogin

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/agentprocess-temporal/server/identity/jwks"
)

// metadata is what a client says of itself (RFC 7591 §2), as far as it matters.
type metadata struct {
	Name         string   `json:"client_name,omitempty"`
	RedirectURIs []string `json:"redirect_uris"`
	AuthMethod   string   `json:"token_endpoint_auth_method,omitempty"`
}

// Bounds of it.
const (
	maxRedirects = 20
	maxRedirect  = 2048
	maxName      = 200
)

var (
	errUnknownClient = errors.New("unknown client")
	errNotFetched    = errors.New("there is no client metadata of this client at its id")
)

// check tells what is wrong with metadata, and fills in what was left out.
func (m *metadata) check() error {
	if len(m.RedirectURIs) == 0 || len(m.RedirectURIs) > maxRedirects {
		return fmt.Errorf("redirect_uris must have 1 to %d addresses", maxRedirects)
	}
	for _, text := range m.RedirectURIs {
		u, err := url.Parse(text)
		if err != nil || len(text) > maxRedirect || u.Scheme == "" || u.Fragment != "" {
			return fmt.Errorf("redirect_uris: %q is not an address to send a browser to", text)
		}
		private := strings.ContainsAny(u.Scheme, ".-") || !slices.Contains([]string{"http", "https", "javascript", "data", "vbscript", "file", "blob", "about"}, u.Scheme)
		if !private && !jwks.SafeURL(text) {
			return fmt.Errorf("redirect_uris: %q must be https, a loopback address, or an application's own scheme", text)
		}
	}
	if len(m.Name) > maxName {
		return fmt.Errorf("client_name must have at most %d bytes", maxName)
	}
	if m.AuthMethod == "" {
		m.AuthMethod = string(oidc.AuthMethodBasic) // RFC 7591 §2
	}
	if !slices.Contains([]oidc.AuthMethod{oidc.AuthMethodNone, oidc.AuthMethodBasic, oidc.AuthMethodPost}, oidc.AuthMethod(m.AuthMethod)) {
		return fmt.Errorf("token_endpoint_auth_method %q is not offered", m.AuthMethod)
	}
	return nil
}

// registered begins the ids of clients that registered themselves. The rest is
// what they registered, and a signature of it: nothing is stored.
const registered = "dyn_"

func (s *storage) sign(purpose, text string) []byte {
	h := hmac.New(sha256.New, s.secret)
	_, _ = io.WriteString(h, purpose+"\x00"+text) // never fails
	return h.Sum(nil)
}

func (s *storage) registeredID(m metadata) (string, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(body)
	return registered + text + "." + base64.RawURLEncoding.EncodeToString(s.sign("client", text)[:16]), nil
}

func (s *storage) readRegistered(id string) (m metadata, err error) {
	text, signature, _ := strings.Cut(strings.TrimPrefix(id, registered), ".")
	got, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || !hmac.Equal(got, s.sign("client", text)[:16]) {
		return m, errUnknownClient
	}
	body, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return m, errUnknownClient
	}
	return m, json.Unmarshal(body, &m)
}

// secretOf is the secret of a client: of an agent, or of one that registered.
func (s *storage) secretOf(id string) string {
	return base64.RawURLEncoding.EncodeToString(s.sign("secret", id))
}

// register registers a client (RFC 7591).
func (p *Provider) register(w http.ResponseWriter, r *http.Request) {
	if openToAll(w, r, http.MethodPost) {
		return
	}
	var m metadata
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &m) != nil {
		refuse(w, "invalid_client_metadata", "the body must be a JSON object")
		return
	}
	if err := m.check(); err != nil {
		refuse(w, "invalid_client_metadata", err.Error())
		return
	}
	id, err := p.storage.registeredID(m)
	if err != nil {
		refuse(w, "invalid_client_metadata", "the metadata cannot be kept")
		return
	}
	answer := map[string]any{
		"client_id": id, "client_id_issued_at": time.Now().Unix(), "redirect_uris": m.RedirectURIs,
		"token_endpoint_auth_method": m.AuthMethod, "grant_types": []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"},
	}
	if m.Name != "" {
		answer["client_name"] = m.Name
	}
	if m.AuthMethod != string(oidc.AuthMethodNone) {
		answer["client_secret"], answer["client_secret_expires_at"] = p.storage.secretOf(id), 0
	}
	send(w, http.StatusCreated, answer)
}

// client finds a client by its id, of any kind.
func (s *storage) client(ctx context.Context, id string) (*client, error) {
	code := []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken}
	switch {
	case id == CommandLine:
		return &client{id: id, metadata: metadata{
			Name: "The command line", RedirectURIs: []string{"http://127.0.0.1/callback"}, AuthMethod: string(oidc.AuthMethodNone),
		}, grants: code}, nil
	case strings.HasPrefix(id, registered):
		m, err := s.readRegistered(id)
		if err != nil {
			return nil, err
		}
		return &client{id: id, metadata: m, grants: code}, nil
	case strings.Contains(id, "://"):
		m, err := s.documents.get(ctx, id)
		if err != nil {
			return nil, err
		}
		return &client{id: id, metadata: m, grants: code}, nil
	case slices.Contains(s.o.Directory().Agents(), id):
		return &client{id: id, metadata: metadata{Name: id, AuthMethod: string(oidc.AuthMethodBasic)},
			grants: []oidc.GrantType{oidc.GrantTypeClientCredentials}}, nil
	}
	return nil, errUnknownClient
}

// documents are client id metadata documents: the id of the client is the
// address where it describes itself.
type documents struct {
	http *http.Client
	mu   sync.Mutex
	kept map[string]document
}

type document struct {
	metadata
	at time.Time
}

const (
	documentsFresh = 5 * time.Minute
	maxDocument    = 5 << 10
	maxDocuments   = 100
	documentWithin = 5 * time.Second
)

func newDocuments(c *http.Client) *documents {
	if c == nil {
		c = newDocumentClient()
	}
	return &documents{http: c, kept: map[string]document{}}
}

func (d *documents) get(ctx context.Context, id string) (metadata, error) {
	u, err := url.Parse(id)
	if err != nil || !jwks.SafeURL(id) || u.Fragment != "" || u.Path == "" || u.Path == "/" {
		return metadata{}, errUnknownClient
	}
	d.mu.Lock()
	kept, ok := d.kept[id]
	d.mu.Unlock()
	if ok && time.Since(kept.at) < documentsFresh {
		return kept.metadata, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return metadata{}, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := d.http.Do(req)
	if err != nil {
		return metadata{}, errNotFetched // what there is at an address is not for everyone to find out
	}
	defer func() { _ = res.Body.Close() }() // read only: nothing to lose
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	if err != nil || res.StatusCode != http.StatusOK || len(body) > maxDocument {
		return metadata{}, errNotFetched
	}
	var m struct {
		ID string `json:"client_id"`
		metadata
	}
	if err := json.Unmarshal(body, &m); err != nil || m.ID != id {
		return metadata{}, errNotFetched
	}
	// A secret that is in a public document is none.
	m.AuthMethod = string(oidc.AuthMethodNone)
	if err := m.check(); err != nil {
		return metadata{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.kept) >= maxDocuments {
		clear(d.kept)
	}
	d.kept[id] = document{m.metadata, time.Now()}
	return m.metadata, nil
}

// client implements op.Client.
type client struct {
	metadata
	id     string
	grants []oidc.GrantType
}

var _ op.Client = (*client)(nil)

func (c *client) GetID() string                       { return c.id }
func (c *client) RedirectURIs() []string              { return c.metadata.RedirectURIs }
func (c *client) PostLogoutRedirectURIs() []string    { return nil }
func (c *client) ApplicationType() op.ApplicationType { return op.ApplicationTypeNative }
func (c *client) AuthMethod() oidc.AuthMethod         { return oidc.AuthMethod(c.metadata.AuthMethod) }
func (c *client) ResponseTypes() []oidc.ResponseType {
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}
func (c *client) GrantTypes() []oidc.GrantType         { return c.grants }
func (c *client) LoginURL(id string) string            { return "/login?id=" + url.QueryEscape(id) }
func (c *client) AccessTokenType() op.AccessTokenType  { return op.AccessTokenTypeJWT }
func (c *client) IDTokenLifetime() time.Duration       { return accessLasts }
func (c *client) DevMode() bool                        { return false }
func (c *client) IsScopeAllowed(string) bool           { return false }
func (c *client) IDTokenUserinfoClaimsAssertion() bool { return false }
func (c *client) ClockSkew() time.Duration             { return 0 }

func (c *client) RestrictAdditionalIdTokenScopes() func([]string) []string { //nolint:staticcheck // the library names it so
	return func(scopes []string) []string { return scopes }
}

func (c *client) RestrictAdditionalAccessTokenScopes() func([]string) []string {
	return func(scopes []string) []string { return scopes }
}
