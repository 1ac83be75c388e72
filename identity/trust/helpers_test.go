package trust

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/idptest"
	"github.com/agentprocess-temporal/server/identity/jwks"
)

var testNow = time.Unix(1_800_000_000, 0)

// everywhere answers for every issuer of the world with one key.
type everywhere struct{ keys jose.JSONWebKeySet }

func (e everywhere) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if issuer, ok := strings.CutSuffix(r.URL.String(), "/.well-known/openid-configuration"); ok {
		if issuer == "https://acme.eu.auth0.com" {
			issuer += "/"
		}
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":"https://keys.example.com/"}`, issuer)
	} else {
		_ = json.NewEncoder(w).Encode(e.keys)
	}
	return w.Result(), nil
}

// world is a verifier and the key that its issuers sign with.
type world struct {
	t   *testing.T
	v   identity.Verifier
	key idptest.Key
}

func newWorld(t *testing.T, config string) world {
	t.Helper()
	c, err := ParseConfig([]byte(config))
	require.NoError(t, err)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	keys := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: private.Public(), KeyID: "k1", Use: "sig", Algorithm: "ES256"},
	}}
	v := New(c, Options{
		Now:  func() time.Time { return testNow },
		Keys: jwks.Options{Client: &http.Client{Transport: everywhere{keys}}},
	})
	return world{t, v, idptest.Key{ID: "k1", Algorithm: jose.ES256, Private: private}}
}

func (w world) verify(c idptest.Claims) (identity.Caller, error) {
	w.t.Helper()
	for name, value := range map[string]any{"iat": testNow.Unix(), "exp": testNow.Add(time.Hour).Unix()} {
		if _, ok := c[name]; !ok {
			c[name] = value
		}
	}
	caller, _, err := w.v.Verify(context.Background(), idptest.SignWith(w.t, w.key.Algorithm, w.key.Private, w.key.ID, c))
	return caller, err
}

func (w world) caller(c idptest.Claims) identity.Caller {
	w.t.Helper()
	caller, err := w.verify(c)
	require.NoError(w.t, err)
	return caller
}

func (w world) refused(sentence string, c idptest.Claims) {
	w.t.Helper()
	caller, err := w.verify(c)
	require.Equal(w.t, identity.ErrInvalidToken, err, sentence)
	require.Zero(w.t, caller, sentence)
}
