package identity

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

const (
	testIssuer   = "https://dev.example"
	testAudience = "https://dev.example/mcp"
)

var (
	testKey  = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	otherKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32))
	testNow  = time.Unix(1_800_000_000, 0)
	agentA1  = Caller{Org: "acme", Subject: "a1", Kind: Agent}
	mira     = Caller{Org: "acme", Subject: "mira@example.com", Kind: Person, Groups: []string{"finance"}, Publisher: true}
)

func clock(t time.Time) func() time.Time { return func() time.Time { return t } }

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

func verifierAt(at time.Time) Verifier {
	return newVerifier(clock(at), testIssuer, testAudience, public(testKey))
}

func issuerAt(at time.Time) *Issuer {
	i := NewIssuer(testKey, testIssuer, testAudience)
	i.now = clock(at)
	return i
}

func TestATokenProvesItsCaller(t *testing.T) {
	upper := mira
	upper.Subject = "Mira@Example.com"
	for name, c := range map[string]struct{ in, want Caller }{
		"an agent":  {agentA1, agentA1},
		"a person":  {mira, mira},
		"any case":  {upper, mira},
		"operators": {Caller{Org: "acme", Subject: "ops@example.com", Kind: Person, Operator: true}, Caller{Org: "acme", Subject: "ops@example.com", Kind: Person, Operator: true}},
	} {
		token, err := issuerAt(testNow).Issue(c.in, time.Hour)
		require.NoError(t, err, name)
		got, until, err := verifierAt(testNow).Verify(context.Background(), token)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
		require.True(t, until.Equal(testNow.Add(time.Hour)), name)
	}
}

func TestTheClockIsTheRealOneByDefault(t *testing.T) {
	token, err := NewIssuer(testKey, testIssuer, testAudience).Issue(agentA1, time.Hour)
	require.NoError(t, err)
	_, _, err = NewVerifier(testIssuer, testAudience, public(otherKey), public(testKey)).Verify(context.Background(), token)
	require.NoError(t, err)
}

func TestATokenHoldsFromIssueToExpiryWithALittleSkew(t *testing.T) {
	token, err := issuerAt(testNow).Issue(agentA1, time.Hour)
	require.NoError(t, err)
	for at, want := range map[time.Duration]bool{
		-Skew - time.Second: false, -Skew: true, time.Hour: true,
		time.Hour + Skew - time.Second: true, time.Hour + Skew + time.Second: false,
	} {
		_, _, err := verifierAt(testNow.Add(at)).Verify(context.Background(), token)
		require.Equal(t, want, err == nil, "at %s", at)
	}
}

func TestTokensDiffer(t *testing.T) {
	a, err := issuerAt(testNow).Issue(agentA1, time.Hour)
	require.NoError(t, err)
	b, err := issuerAt(testNow).Issue(agentA1, time.Hour)
	require.NoError(t, err)
	require.NotEqual(t, a, b, "each has its own jti")
}

// forge signs claims that Issue would not, in the form of a real token.
func forge(t *testing.T, method jwt.SigningMethod, key any, kid string, edit func(h, c map[string]any)) string {
	t.Helper()
	c := jwt.MapClaims{
		"iss": testIssuer, "aud": testAudience, "sub": "a1", "org": "acme", "kind": "agent",
		"iat": testNow.Unix(), "exp": testNow.Add(time.Hour).Unix(), "jti": "1",
	}
	token := jwt.NewWithClaims(method, c)
	token.Header["kid"] = kid
	if edit != nil {
		edit(token.Header, c)
	}
	signed, err := token.SignedString(key)
	require.NoError(t, err)
	return signed
}

func TestEveryOtherTokenIsRefusedAlike(t *testing.T) {
	kid := keyID(public(testKey))
	with := func(edit func(h, c map[string]any)) string {
		return forge(t, jwt.SigningMethodEdDSA, testKey, kid, edit)
	}
	set := func(pairs ...any) string {
		return with(func(_, c map[string]any) {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i+1] == nil {
					delete(c, pairs[i].(string))
				} else {
					c[pairs[i].(string)] = pairs[i+1]
				}
			}
		})
	}
	person := func(pairs ...any) string {
		return set(append([]any{"kind", "person", "sub", "mira@example.com"}, pairs...)...)
	}
	v := verifierAt(testNow)
	for name, token := range map[string]string{"an agent": set(), "a person": person("groups", []string{"finance"}, "operator", true)} {
		_, _, err := v.Verify(context.Background(), token)
		require.NoError(t, err, "what is forged below differs from a good token in one thing: %s", name)
	}

	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	good := set()
	parts := strings.Split(good, ".")
	b64 := base64.RawURLEncoding.EncodeToString
	payload, err := json.Marshal(map[string]any{"iss": testIssuer, "aud": testAudience, "sub": "ops@example.com", "org": "acme", "kind": "person", "operator": true, "iat": testNow.Unix(), "exp": testNow.Add(time.Hour).Unix()})
	require.NoError(t, err)

	for name, token := range map[string]string{
		"nothing":                         "",
		"no token at all":                 "a.b.c",
		"a truncated token":               good[:len(good)-1],
		"a token without signature":       parts[0] + "." + parts[1] + ".",
		"two parts":                       parts[0] + "." + parts[1],
		"four parts":                      good + ".x",
		"other claims under a signature":  parts[0] + "." + b64(payload) + "." + parts[2],
		"a padded signature":              good + "==",
		"an oversized token":              set("x", strings.Repeat("x", MaxTokenBytes)),
		"the algorithm none":              forge(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, kid, nil),
		"HMAC with the public key":        forge(t, jwt.SigningMethodHS256, []byte(public(testKey)), kid, nil),
		"RSA":                             forge(t, jwt.SigningMethodRS256, rsaKey, kid, nil),
		"another key under the known id":  forge(t, jwt.SigningMethodEdDSA, otherKey, kid, nil),
		"another key":                     forge(t, jwt.SigningMethodEdDSA, otherKey, keyID(public(otherKey)), nil),
		"no key id":                       with(func(h, _ map[string]any) { delete(h, "kid") }),
		"a key id that is no text":        with(func(h, _ map[string]any) { h["kid"] = 7 }),
		"a critical extension":            with(func(h, _ map[string]any) { h["crit"] = []string{"x"} }),
		"another issuer":                  set("iss", "https://evil.example"),
		"no issuer":                       set("iss", nil),
		"another audience":                set("aud", "https://other.example/mcp"),
		"no audience":                     set("aud", nil),
		"an expired token":                set("exp", testNow.Add(-time.Hour).Unix()),
		"no expiry":                       set("exp", nil),
		"not yet valid":                   set("nbf", testNow.Add(time.Hour).Unix()),
		"issued in the future":            set("iat", testNow.Add(time.Hour).Unix()),
		"no time of issue":                set("iat", nil),
		"no organization":                 set("org", nil),
		"an organization that is no id":   set("org", "a/b"),
		"no subject":                      set("sub", nil),
		"an agent named like a person":    set("sub", "mira@example.com"),
		"an agent named like the server":  set("sub", "server"),
		"no kind":                         set("kind", nil),
		"an unknown kind":                 set("kind", "robot"),
		"a kind in another case":          set("kind", "Agent"),
		"a person in another case":        person("kind", "PERSON"),
		"an agent that is an operator":    set("operator", true),
		"an agent that is a publisher":    set("publisher", true),
		"an agent with groups":            set("groups", []string{"finance"}),
		"a person without an address":     person("sub", "mira"),
		"a person in the operator queue":  person("groups", []string{"finance", "operators"}),
		"a person in a group of no name":  person("groups", []string{""}),
		"a flag that is text":             person("operator", "true"),
		"groups that are no list of text": person("groups", "finance"),
	} {
		c, until, err := v.Verify(context.Background(), token)
		require.Equal(t, ErrInvalidToken, err, name)
		require.Zero(t, c, name)
		require.Zero(t, until, name)
	}
}

func TestIssueRefusesWhatNoVerifierTakes(t *testing.T) {
	for name, c := range map[string]Caller{
		"no kind":                 {Org: "acme", Subject: "a1"},
		"an agent with a power":   {Org: "acme", Subject: "a1", Kind: Agent, Operator: true},
		"a person of no address":  {Org: "acme", Subject: "mira", Kind: Person},
		"no organization":         {Subject: "a1", Kind: Agent},
		"the operators, by group": {Org: "acme", Subject: "a@b.c", Kind: Person, Groups: []string{OperatorGroup}},
	} {
		_, err := issuerAt(testNow).Issue(c, time.Hour)
		require.Error(t, err, name)
	}
	_, err := issuerAt(testNow).Issue(agentA1, 0)
	require.Error(t, err)
}
