package trust

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/idptest"
)

// twoIssuers are trusted by one server, and name their keys alike.
func twoIssuers(t *testing.T, algorithms ...jose.SignatureAlgorithm) (identity.Verifier, [2]*idptest.Provider, [2]idptest.Key) {
	t.Helper()
	var p [2]*idptest.Provider
	var k [2]idptest.Key
	for i := range p {
		p[i] = idptest.Start(t)
		k[i] = idptest.NewKey(t, "k1", algorithms[i])
		p[i].Show(k[i])
	}
	c, err := ParseConfig([]byte(strings.NewReplacer("ONE", p[0].URL, "TWO", p[1].URL).Replace(`
resource: https://process.example.com/mcp
issuers:
  - { issuer: ONE, organization: acme, human_clients: [web] }
  - { issuer: TWO, organization: { claim: org, values: { g: globex } }, human_clients: [web] }
`)))
	require.NoError(t, err)
	return New(c, Options{}), p, k
}

func TestAKeyOfOneIssuerProvesNothingOfAnotherWhateverItsID(t *testing.T) {
	for _, algorithms := range [][]jose.SignatureAlgorithm{{jose.ES256, jose.ES256}, {jose.ES256, jose.RS256}, {jose.RS256, jose.ES256}} {
		v, p, k := twoIssuers(t, algorithms...)
		claims := func(i int) idptest.Claims {
			return p[i].Claims(time.Now(), resource, idptest.Claims{"azp": "web", "sub": "u1", "email": "mira@example.com", "org": "g"})
		}
		for i, want := range []string{"acme", "globex"} {
			c, _, err := v.Verify(t.Context(), p[i].Sign(k[i], claims(i)))
			require.NoError(t, err)
			require.Equal(t, want, c.Org)
			for range 2 { // whichever keys were fetched first
				_, _, err = v.Verify(t.Context(), p[i].Sign(k[1-i], claims(i)))
				require.Equal(t, identity.ErrInvalidToken, err, "signed by the other")
			}
		}
		// Nor does an issuer speak for the other's organization.
		for _, org := range []any{"acme", "g ", "G", "globex", []string{"g"}, map[string]any{"g": "g"}, nil, true, ""} {
			mine := claims(1)
			mine["org"], mine["organization"], mine["tenant"] = org, "acme", "acme"
			_, _, err := v.Verify(t.Context(), p[1].Sign(k[1], mine))
			require.Equal(t, identity.ErrInvalidToken, err, "%v", org)
		}
		mine := claims(0)
		mine["org"], mine["organization"] = "globex", "globex"
		c, _, err := v.Verify(t.Context(), p[0].Sign(k[0], mine))
		require.NoError(t, err)
		require.Equal(t, "acme", c.Org, "whatever it says")
	}
}

func TestAnIssuerIsComparedToTheLetter(t *testing.T) {
	p, other := idptest.Start(t), idptest.Start(t)
	plain, slashed := idptest.NewKey(t, "k1", jose.ES256), idptest.NewKey(t, "k1", jose.ES256)
	p.Show(plain)
	other.Show(slashed)
	c, err := ParseConfig([]byte(strings.NewReplacer("ONE", p.URL, "TWO", other.URL).Replace(`
resource: https://process.example.com/mcp
issuers:
  - { issuer: ONE, organization: acme }
  - { issuer: ONE/, keys: TWO/keys, organization: globex }
`)))
	require.NoError(t, err)
	v := New(c, Options{})
	org := func(issuer any, k idptest.Key) string {
		c, _, err := v.Verify(t.Context(), p.Sign(k, p.Claims(time.Now(), resource, idptest.Claims{"iss": issuer, "azp": "bot", "sub": "bot"})))
		if err != nil {
			require.Equal(t, identity.ErrInvalidToken, err)
		}
		return c.Org
	}
	require.Equal(t, "acme", org(p.URL, plain))
	require.Equal(t, "globex", org(p.URL+"/", slashed))
	require.Empty(t, org(p.URL, slashed))
	require.Empty(t, org(p.URL+"/", plain))
	for _, issuer := range []any{
		p.URL + "//", p.URL + "/.", p.URL + "?", p.URL + "#", strings.ToUpper(p.URL), p.URL + " ", []string{p.URL}, []string{p.URL, p.URL + "/"},
		map[string]any{"iss": p.URL}, 1, true, "", nil, other.URL,
	} {
		require.Empty(t, org(issuer, plain), "%v", issuer)
		require.Empty(t, org(issuer, slashed), "%v", issuer)
	}
}

func TestAnAudienceIsATextOrAListOfTexts(t *testing.T) {
	w := newWorld(t, simple)
	for _, aud := range []any{resource, []string{resource}, []string{"https://other.example.com", resource}} {
		require.Equal(t, "mira@example.com", w.caller(base(idptest.Claims{"aud": aud})).Subject)
	}
	for _, aud := range []any{
		[]any{}, []any{[]string{resource}}, map[string]any{"aud": resource}, []any{map[string]any{"aud": resource}}, []any{nil}, []any{resource, 1},
		resource + " https://other.example.com", resource + "," + resource, "process.example.com", "https://process.example.com", strings.ToUpper(resource),
		resource + "?x", resource + "#x", "*", true, 0, "",
	} {
		w.refused("an audience", base(idptest.Claims{"aud": aud}))
	}
}

func TestAKeyIsUsedForItsOwnAlgorithmAndComesFromTheIssuerOnly(t *testing.T) {
	var asked atomic.Int64
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); http.NotFound(w, nil) }))
	t.Cleanup(evil.Close)
	p := idptest.Start(t)
	rsa, own := idptest.NewKey(t, "rs", jose.RS256), idptest.NewKey(t, "own", jose.ES256)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	shared := bytes.Repeat([]byte("k"), 32)
	p.ShowRaw(
		jose.JSONWebKey{Key: rsa.Private.Public(), KeyID: "rs", Algorithm: "RS256"},
		jose.JSONWebKey{Key: p384.Public(), KeyID: "p384"},
		jose.JSONWebKey{Key: ed.Public(), KeyID: "ed", Algorithm: "EdDSA"},
		jose.JSONWebKey{Key: ed.Public(), KeyID: "ed as ec", Algorithm: "ES256"},
		jose.JSONWebKey{Key: shared, KeyID: "oct", Algorithm: "HS256"},
		jose.JSONWebKey{Key: rsa.Private.Public(), KeyID: "no alg"},
	)
	c, err := ParseConfig([]byte("resource: " + resource + "\nissuers: [{issuer: '" + p.URL + "', organization: acme, algorithms: [RS256, PS256, ES256, ES384, EdDSA]}]"))
	require.NoError(t, err)
	v := New(c, Options{})
	verify := func(alg jose.SignatureAlgorithm, key any, kid string, headers ...map[jose.HeaderKey]any) error {
		_, _, err := v.Verify(t.Context(), idptest.SignWith(t, alg, key, kid, p.Claims(time.Now(), resource, idptest.Claims{"azp": "bot", "sub": "bot"}), headers...))
		return err
	}
	require.NoError(t, verify(jose.RS256, rsa.Private, "rs"))
	require.NoError(t, verify(jose.EdDSA, ed, "ed"))
	require.NoError(t, verify(jose.ES384, p384, "p384"))
	require.NoError(t, verify(jose.PS256, rsa.Private, "no alg"))
	jwk := map[jose.HeaderKey]any{"jwk": jose.JSONWebKey{Key: own.Private.Public(), KeyID: "rs"}}
	for name, err := range map[string]error{
		"another algorithm than the key says": verify(jose.PS256, rsa.Private, "rs"),
		"a key that says it is another kind":  verify(jose.EdDSA, ed, "ed as ec"),
		"a shared key of the set":             verify(jose.HS256, shared, "oct"),
		"a key of another kind":               verify(jose.ES256, own.Private, "rs"),
		"another curve":                       verify(jose.ES256, own.Private, "p384"),
		"a kid of a path":                     verify(jose.RS256, rsa.Private, "../keys/rs"),
		"a kid of another case":               verify(jose.RS256, rsa.Private, "RS"),
		"a kid with a NUL":                    verify(jose.RS256, rsa.Private, "rs\x00"),
		"its own key":                         verify(jose.ES256, own.Private, "rs", jwk),
		"the address of its own keys":         verify(jose.ES256, own.Private, "own", map[jose.HeaderKey]any{"jku": evil.URL + "/keys"}),
		"the address of a certificate":        verify(jose.ES256, own.Private, "own", map[jose.HeaderKey]any{"x5u": evil.URL + "/cert"}),
		"an unencoded payload":                verify(jose.RS256, rsa.Private, "rs", map[jose.HeaderKey]any{"b64": false, "crit": []string{"b64"}}),
	} {
		require.Equal(t, identity.ErrInvalidToken, err, name)
	}
	require.Zero(t, asked.Load(), "no address of a token is asked")
}

func TestTwoIssuersDoNotGiveOneNameToTwoAgentsOfAnOrganization(t *testing.T) {
	config := func(two string) string {
		return `
resource: https://process.example.com/mcp
issuers:
  - { issuer: "https://one.example.com", organization: acme, agents: [{ client: bot, processes: [p] }] }
  - { issuer: "https://two.example.com", ` + two + `, agents: [{ client: bot }] }
`
	}
	for two, good := range map[string]bool{
		"organization: acme":                                false,
		"organization: { claim: o, values: { x: acme } }":   false,
		"organization: globex":                              true,
		"organization: { claim: o, values: { x: globex } }": true,
	} {
		_, err := ParseConfig([]byte(config(two)))
		if good {
			require.NoError(t, err, two)
		} else {
			require.ErrorContains(t, err, `line 5: issuers[1].agents: "bot" is listed by issuers[0], too: give each of the two a name`, two)
		}
	}
}
