package trust

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/idptest"
	"github.com/agentprocess-temporal/server/identity/jwks"
)

const issuer = "https://id.example.com"

const simple = `
resource: https://process.example.com/mcp
issuers:
  - issuer: https://id.example.com
    organization: acme
    human_clients: [web]
    agents:
      - { client: bot-client, name: bot }
`

func base(changes idptest.Claims) idptest.Claims {
	c := idptest.Claims{
		"iss": issuer, "aud": resource, "azp": "web", "sub": "u1", "email": "mira@example.com",
		"iat": testNow.Unix(), "exp": testNow.Add(time.Hour).Unix(),
	}
	maps.Copy(c, changes)
	for k, v := range c {
		if v == nil {
			delete(c, k)
		}
	}
	return c
}

func TestTimesHoldWithALittleSkew(t *testing.T) {
	w := newWorld(t, simple)
	at := func(d time.Duration) int64 { return testNow.Add(d).Unix() }
	for name, c := range map[string]struct {
		claims idptest.Claims
		good   bool
	}{
		"a good one":                 {base(nil), true},
		"just over":                  {base(idptest.Claims{"exp": at(-29 * time.Second)}), true},
		"over":                       {base(idptest.Claims{"exp": at(-31 * time.Second)}), false},
		"no expiry":                  {base(idptest.Claims{"exp": nil}), false},
		"an expiry that is text":     {base(idptest.Claims{"exp": "tomorrow"}), false},
		"almost valid":               {base(idptest.Claims{"nbf": at(29 * time.Second)}), true},
		"not yet valid":              {base(idptest.Claims{"nbf": at(31 * time.Second)}), false},
		"issued in the future":       {base(idptest.Claims{"iat": at(31 * time.Second)}), false},
		"no time of issue":           {base(idptest.Claims{"iat": nil}), true},
		"an expiry before the epoch": {base(idptest.Claims{"exp": -1}), false},
	} {
		_, _, err := w.v.Verify(context.Background(), idptest.SignWith(t, w.key.Algorithm, w.key.Private, w.key.ID, c.claims))
		if c.good {
			require.NoError(t, err, name)
		} else {
			require.Equal(t, identity.ErrInvalidToken, err, name)
		}
	}
}

func TestEveryForgedTokenIsRefusedAlike(t *testing.T) {
	w := newWorld(t, simple)
	sign := func(alg jose.SignatureAlgorithm, key any, kid string, headers ...map[jose.HeaderKey]any) string {
		return idptest.SignWith(t, alg, key, kid, base(nil), headers...)
	}
	good := sign(jose.ES256, w.key.Private, "k1")
	_, until, err := w.v.Verify(context.Background(), good)
	require.NoError(t, err)
	require.True(t, until.Equal(testNow.Add(time.Hour)))

	other := idptest.NewKey(t, "k1", jose.ES256)
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	der, err := x509.MarshalPKIXPublicKey(w.key.Private.Public())
	require.NoError(t, err)
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	parts := strings.Split(good, ".")
	b64 := base64.RawURLEncoding.EncodeToString
	payload, err := json.Marshal(base(nil))
	require.NoError(t, err)
	raw := func(header string) string { return b64([]byte(header)) + "." + b64(payload) + "." }
	signed := func(payload string) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: w.key.Private}, (&jose.SignerOptions{}).WithHeader("kid", "k1"))
		require.NoError(t, err)
		token, err := signer.Sign([]byte(payload))
		require.NoError(t, err)
		text, err := token.CompactSerialize()
		require.NoError(t, err)
		return text
	}
	for name, token := range map[string]string{
		"nothing":                      "",
		"no token":                     "a.b.c",
		"truncated":                    good[:len(good)-2],
		"without its signature":        parts[0] + "." + parts[1] + ".",
		"two parts":                    parts[0] + "." + parts[1],
		"four parts":                   good + ".x",
		"other claims, same signature": parts[0] + "." + b64([]byte(strings.Replace(string(payload), "u1", "u2", 1))) + "." + parts[2],
		"oversized":                    idptest.SignWith(t, jose.ES256, w.key.Private, "k1", base(idptest.Claims{"x": strings.Repeat("x", identity.MaxTokenBytes)})),
		"alg none":                     raw(`{"alg":"none","kid":"k1"}`),
		"alg None":                     raw(`{"alg":"None","kid":"k1"}`),
		"no alg":                       raw(`{"kid":"k1"}`),
		"HMAC with the public key":     sign(jose.HS256, public, "k1"),
		"HMAC with the key's bytes":    sign(jose.HS256, der, "k1"),
		"an algorithm of another key":  sign(jose.RS256, weak, "k1"),
		"an algorithm that is not on":  sign(jose.RS512, weak, "k1"),
		"another key under a known id": sign(jose.ES256, other.Private, "k1"),
		"an unknown key id":            sign(jose.ES256, w.key.Private, "k2"),
		"no key id":                    sign(jose.ES256, w.key.Private, ""),
		"a key of its own in it":       sign(jose.ES256, other.Private, "", map[jose.HeaderKey]any{"jwk": jose.JSONWebKey{Key: other.Private.Public(), KeyID: "k1"}}),
		"an address of its own keys":   sign(jose.ES256, other.Private, "k1", map[jose.HeaderKey]any{"jku": "https://evil.example/keys"}),
		"something critical":           sign(jose.ES256, w.key.Private, "k1", map[jose.HeaderKey]any{"crit": []string{"exp"}, "exp": 1}),
		"a token for something else":   sign(jose.ES256, w.key.Private, "k1", map[jose.HeaderKey]any{"typ": "logout+jwt"}),
		"claims given twice":           signed(strings.Replace(string(payload), `{`, `{"azp":"bot-client",`, 1)),
		"claims in another case":       signed(strings.Replace(string(payload), `"exp"`, `"EXP"`, 1)),
		"claims that are no object":    signed(`["iss"]`),
		"claims that are no JSON":      signed(`{"iss":"https://id.example.com"`),
	} {
		c, until, err := w.v.Verify(context.Background(), token)
		require.Equal(t, identity.ErrInvalidToken, err, name)
		require.Zero(t, c, name)
		require.Zero(t, until, name)
	}
}

func TestATokenIsForThisResourceByThisIssuer(t *testing.T) {
	w := newWorld(t, simple)
	for name, c := range map[string]idptest.Claims{
		"another issuer":               {"iss": "https://evil.example"},
		"an issuer that looks like it": {"iss": issuer + "/"},
		"no issuer":                    {"iss": nil},
		"another audience":             {"aud": "https://other.example.com/mcp"},
		"an audience that looks alike": {"aud": resource + "/"},
		"several others":               {"aud": []string{"a", "b"}},
		"no audience":                  {"aud": nil},
		"no subject":                   {"sub": nil},
		"an empty subject":             {"sub": ""},
		"a subject that is no text":    {"sub": 7},
		"no client":                    {"azp": nil},
		"a client that is no text":     {"azp": []string{"web"}},
		"two different clients":        {"client_id": "bot-client"},
		"bound to a key":               {"cnf": map[string]any{"jkt": "x"}},
	} {
		w.refused(name, base(c))
	}
	require.Equal(t, "mira@example.com", w.caller(base(idptest.Claims{"aud": []string{"x", resource}})).Subject)
}

func TestOnlyHumanClientsBringPeople(t *testing.T) {
	w := newWorld(t, simple)
	require.Equal(t, identity.Person, w.caller(base(nil)).Kind)
	for name, c := range map[string]idptest.Claims{
		"another client":                       {"azp": "mcp"},
		"a listed agent's":                     {"azp": "bot-client"},
		"a human client for itself":            {"sub": "web"},
		"somebody acting for the person":       {"act": map[string]any{"sub": "bot-client"}},
		"what says to be a person":             {"azp": "mcp", "kind": "person", "operator": true, "groups": []string{"finance"}, "scope": "operate"},
		"a client in another case":             {"azp": "WEB"},
		"a client that looks like a human one": {"azp": "web "},
	} {
		agent := w.caller(base(c))
		require.Equal(t, identity.Agent, agent.Kind, name)
		require.Empty(t, agent.Groups, name)
		require.False(t, agent.Operator || agent.Publisher, name)
		require.NotContains(t, agent.Subject, "@", name)
	}
	for name, c := range map[string]idptest.Claims{
		"no address":             {"email": nil},
		"what is no address":     {"email": "mira"},
		"an address not its own": {"email_verified": false},
		"the same, as text":      {"email_verified": "false"},
	} {
		w.refused(name, base(c))
	}
}

func TestNoTwoAgentsHaveOneName(t *testing.T) {
	w := newWorld(t, simple)
	name := func(client, sub string) string {
		return w.caller(base(idptest.Claims{"azp": client, "sub": sub, "email": nil})).Subject
	}
	require.Equal(t, "bot", name("bot-client", "bot-client"))
	require.Equal(t, "mcp", name("mcp", "mcp"))
	all := map[string]string{}
	for _, c := range [][2]string{
		{"bot-client", "bot-client"}, {"bot-client", "u1"}, {"bot-client", "u2"}, {"bot", "bot"}, {"mcp", "mcp"}, {"mcp", "u1"},
		{"https://app.example.com/client.json", "u1"}, {"https://app.example.com/client.json", "u2"}, {"http://app.example.com/client.json", "u1"},
		{"server", "server"}, {"mcp.0123456789abcdef", "mcp.0123456789abcdef"}, {"m c p", "m c p"}, {"m-c-p", "m-c-p"},
		{strings.Repeat("x", 500), "u1"}, {"\u00fc", "\u00fc"}, {name("mcp", "u1"), name("mcp", "u1")},
	} {
		got := name(c[0], c[1])
		require.Empty(t, identity.WrongAgent(got), "%v", c)
		require.Empty(t, all[got], "%v has the name of %s", c, all[got])
		all[got] = c[0] + " " + c[1]
	}
	require.Regexp(t, `^app\.example\.com-client\.json\.[0-9a-f]{16}$`, name("https://app.example.com/client.json", "u1"))
}

func TestIssuersSpeakForTheirOwnOrganizations(t *testing.T) {
	w := newWorld(t, `
resource: https://process.example.com/mcp
issuers:
  - issuer: https://id.example.com
    organization: { claim: [tenant, id], values: { "1": acme, "2": globex } }
    human_clients: [web]
  - issuer: https://other.example.com
    organization: initech
    human_clients: [other-web]
`)
	tenant := func(id any) idptest.Claims { return idptest.Claims{"tenant": map[string]any{"id": id}} }
	require.Equal(t, "acme", w.caller(base(tenant("1"))).Org)
	require.Equal(t, "globex", w.caller(base(tenant("2"))).Org)
	for _, id := range []any{"3", "initech", 1, nil} {
		w.refused("another organization", base(tenant(id)))
	}
	other := idptest.Claims{"iss": "https://other.example.com", "azp": "other-web", "tenant": map[string]any{"id": "1"}}
	require.Equal(t, "initech", w.caller(base(other)).Org)
	other["azp"] = "web"
	require.Equal(t, identity.Agent, w.caller(base(other)).Kind, "a human client is one at its own issuer")
}

func TestARevokedKeyStopsWorkingAfterRotation(t *testing.T) {
	p := idptest.Start(t)
	old, fresh := idptest.NewKey(t, "old", jose.ES256), idptest.NewKey(t, "fresh", jose.RS256)
	p.Show(old)
	c, err := ParseConfig([]byte("resource: " + resource + "\nissuers: [{issuer: '" + p.URL + "', organization: acme}]"))
	require.NoError(t, err)
	now := time.Now()
	v := New(c, Options{Now: func() time.Time { return now }, Keys: jwks.Options{Fresh: time.Minute, Pause: time.Second}})
	verify := func(k idptest.Key) error {
		_, _, err := v.Verify(t.Context(), p.Sign(k, p.Claims(now, resource, idptest.Claims{"azp": "bot", "sub": "bot"})))
		return err
	}
	require.NoError(t, verify(old))
	require.Equal(t, identity.ErrInvalidToken, verify(fresh))
	p.Show(old, fresh)
	now = now.Add(2 * time.Second)
	require.NoError(t, verify(fresh))
	require.NoError(t, verify(old))
	p.Show(fresh)
	now = now.Add(2 * time.Minute)
	require.Equal(t, identity.ErrInvalidToken, verify(old))
	require.NoError(t, verify(fresh))
	p.Down(true)
	now = now.Add(2 * time.Hour)
	err = verify(fresh)
	require.Error(t, err)
	require.NotErrorIs(t, err, identity.ErrInvalidToken, "nobody can tell now")
}
