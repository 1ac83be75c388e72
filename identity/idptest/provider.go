package idptest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// Provider is a running identity provider.
type Provider struct {
	// URL is the issuer.
	URL string
	// Asked counts the requests for keys.
	Asked atomic.Int64

	t      testing.TB
	server *httptest.Server
	mu     sync.Mutex
	shown  []jose.JSONWebKey
	down   bool
}

// Key is a signing key of a provider.
type Key struct {
	ID        string
	Algorithm jose.SignatureAlgorithm
	Private   crypto.Signer
}

// Claims of a token.
type Claims = map[string]any

// Start starts a provider that has no keys yet, until the test ends.
func Start(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.answer(w, map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		p.Asked.Add(1)
		p.mu.Lock()
		set := jose.JSONWebKeySet{Keys: p.shown}
		p.mu.Unlock()
		p.answer(w, set)
	})
	p.server = httptest.NewServer(mux)
	p.URL = p.server.URL
	t.Cleanup(p.server.Close)
	return p
}

func (p *Provider) answer(w http.ResponseWriter, doc any) {
	p.mu.Lock()
	down := p.down
	p.mu.Unlock()
	if down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(doc)
}

// Down makes the provider answer 503, or not any more.
func (p *Provider) Down(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

// Show makes these the keys that the provider publishes.
func (p *Provider) Show(keys ...Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = nil
	for _, k := range keys {
		p.shown = append(p.shown, jose.JSONWebKey{Key: k.Private.Public(), KeyID: k.ID, Algorithm: string(k.Algorithm), Use: "sig"})
	}
}

// ShowRaw makes these the keys that the provider publishes, whatever they are.
func (p *Provider) ShowRaw(keys ...jose.JSONWebKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = keys
}

// NewKey makes a key; it is not published by that.
func NewKey(t testing.TB, id string, alg jose.SignatureAlgorithm) Key {
	t.Helper()
	var private crypto.Signer
	var err error
	if alg == jose.ES256 {
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	require.NoError(t, err)
	return Key{id, alg, private}
}

// Sign signs claims, with further headers.
func (p *Provider) Sign(k Key, c Claims, headers ...map[jose.HeaderKey]any) string {
	p.t.Helper()
	return SignWith(p.t, k.Algorithm, k.Private, k.ID, c, headers...)
}

// SignWith signs claims with any key, also one of the wrong kind.
func SignWith(t testing.TB, alg jose.SignatureAlgorithm, key any, kid string, c Claims, headers ...map[jose.HeaderKey]any) string {
	t.Helper()
	o := (&jose.SignerOptions{}).WithType("at+jwt")
	if kid != "" {
		o = o.WithHeader("kid", kid)
	}
	for _, more := range headers {
		for name, value := range more {
			o = o.WithHeader(name, value)
		}
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, o)
	require.NoError(t, err)
	payload, err := json.Marshal(c)
	require.NoError(t, err)
	token, err := signer.Sign(payload)
	require.NoError(t, err)
	text, err := token.CompactSerialize()
	require.NoError(t, err)
	return text
}

// Claims are those of a good token for audience from now on, with changes; a
// change to nil leaves the claim out.
func (p *Provider) Claims(now time.Time, audience string, changes Claims) Claims {
	c := Claims{"iss": p.URL, "aud": audience, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(c, changes)
	for name, value := range c {
		if value == nil {
			delete(c, name)
		}
	}
	return c
}
