package runtoken_test

import (
	"bytes"
	"encoding/base64"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentprocess-temporal/server/internal/keyring"
	"github.com/agentprocess-temporal/server/internal/runtoken"
)

var (
	key1   = bytes.Repeat([]byte{1}, 32)
	key2   = bytes.Repeat([]byte{2}, 32)
	claims = runtoken.Claims{Org: "acme", RunID: "r_8f2", StepID: "check_vendor", Number: 3}
	enc    = base64.RawURLEncoding
)

func ring(t testing.TB, current string, keys map[string][]byte) *keyring.Ring {
	t.Helper()
	r, err := keyring.New(current, keys)
	require.NoError(t, err)
	return r
}

func mint(t testing.TB, r *keyring.Ring, kid string, c runtoken.Claims) string {
	t.Helper()
	token, err := runtoken.Mint(r, kid, c)
	require.NoError(t, err)
	return token
}

func refused(t testing.TB, r *keyring.Ring, org, token, why string) {
	t.Helper()
	c, kid, ok := runtoken.Parse(r, org, token)
	require.False(t, ok, why)
	require.Zero(t, c, why)
	require.Empty(t, kid, why)
}

func TestATokenReadsBackAsWhatWasClaimed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		field := rapid.StringMatching(`[a-z][a-z0-9_-]{0,63}`)
		c := runtoken.Claims{
			Org: field.Draw(rt, "org"), RunID: field.Draw(rt, "run"), StepID: field.Draw(rt, "step"),
			Number: rapid.Int64Range(0, math.MaxInt64).Draw(rt, "number"),
		}
		r := ring(t, "k1", map[string][]byte{"k1": key1})
		token := mint(t, r, "k1", c)
		got, kid, ok := runtoken.Parse(r, c.Org, token)
		require.True(t, ok)
		require.Equal(t, c, got)
		require.Equal(t, "k1", kid)
		require.Equal(t, token, mint(t, r, "k1", c), "the same claim gives the same token")
	})
}

// Tokens outlive a release: their text must not change with the code.
func TestTheTextOfATokenIsFrozen(t *testing.T) {
	r := ring(t, "k1", map[string][]byte{"k1": key1})
	require.Equal(t, "AQJrMQVyXzhmMgxjaGVja192ZW5kb3ID0Dh5AJBmT5KV9EJHBDb4nQa7aBmo8hFAe21Rj473mlc", mint(t, r, "k1", claims))
	require.Equal(t, "r_ekpr6caifytzus7algg4jhsj3am5ruzj", runtoken.RunID(key1, "acme", "req-1"))
}

func TestATokenShowsNeitherOrganizationNorReadableText(t *testing.T) {
	r := ring(t, "k1", map[string][]byte{"k1": key1})
	token := mint(t, r, "k1", claims)
	require.Regexp(t, `^[A-Za-z0-9_-]+$`, token)
	raw, err := enc.DecodeString(token)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "acme")
}

func TestRetiredKeysReadAndSignAndRemovedOnesDoNot(t *testing.T) {
	before := ring(t, "k1", map[string][]byte{"k1": key1})
	after := ring(t, "k2", map[string][]byte{"k1": key1, "k2": key2})
	without := ring(t, "k2", map[string][]byte{"k2": key2})
	renamed := ring(t, "k1", map[string][]byte{"k1": key2})
	token := mint(t, before, "k1", claims)

	got, kid, ok := runtoken.Parse(after, "acme", token)
	require.True(t, ok)
	require.Equal(t, claims, got)
	require.Equal(t, "k1", kid)
	require.Equal(t, token, mint(t, after, "k1", claims), "a replay is signed as the first answer was")
	require.NotEqual(t, token, mint(t, after, after.Current(), claims))

	refused(t, without, "acme", token, "a removed key")
	refused(t, renamed, "acme", token, "another key under the same id")
	_, err := runtoken.Mint(without, "k1", claims)
	require.ErrorContains(t, err, `no key "k1"`)
}

func TestATokenIsOfOneOrganization(t *testing.T) {
	r := ring(t, "k1", map[string][]byte{"k1": key1})
	token := mint(t, r, "k1", claims)
	for _, org := range []string{"", "acm", "acme2", "ACME", "globex", strings.Repeat("a", 300)} {
		refused(t, r, org, token, org)
	}
}

func TestASignatureForAnotherPurposeIsNoToken(t *testing.T) {
	r := ring(t, "k1", map[string][]byte{"k1": key1})
	raw, err := enc.DecodeString(mint(t, r, "k1", claims))
	require.NoError(t, err)
	body := raw[:len(raw)-keyring.MACBytes]
	mac, _ := r.SignWith("k1", "file-link", append([]byte("\x04acme"), body...))
	refused(t, r, "acme", enc.EncodeToString(append(bytes.Clone(body), mac...)), "another purpose")

	// The same made for the right purpose is the token: the test above tests
	// the purpose and not a slip in how it builds the message.
	mac, _ = r.SignWith("k1", "claim-token", append([]byte("\x04acme"), body...))
	_, _, ok := runtoken.Parse(r, "acme", enc.EncodeToString(append(bytes.Clone(body), mac...)))
	require.True(t, ok)
}

func TestEveryFlippedBitIsRefused(t *testing.T) {
	r := ring(t, "k1", map[string][]byte{"k1": key1, "k2": key2, "k3": bytes.Repeat([]byte{3}, 32)})
	token := mint(t, r, "k1", claims)
	raw, err := enc.DecodeString(token)
	require.NoError(t, err)
	for i := range len(raw) * 8 {
		b := bytes.Clone(raw)
		b[i/8] ^= 1 << (i % 8)
		refused(t, r, "acme", enc.EncodeToString(b), "bit of the bytes")
	}
	for i := range len(token) {
		for bit := range 8 {
			b := []byte(token)
			b[i] ^= 1 << bit
			refused(t, r, "acme", string(b), "bit of the text")
		}
		refused(t, r, "acme", token[:i], "truncated")
	}
}

func TestATokenHasOneSpelling(t *testing.T) {
	r := ring(t, "k1", map[string][]byte{"k1": key1})
	for _, step := range []string{"a", "ab", "abc"} { // all three remainders of base64
		c := claims
		c.StepID = step
		token := mint(t, r, "k1", c)
		raw, err := enc.DecodeString(token)
		require.NoError(t, err)
		for name, other := range map[string]string{
			"padding":            token + "=",
			"double padding":     token + "==",
			"its own padding":    base64.URLEncoding.EncodeToString(raw) + "=",
			"a line end":         token + "\n",
			"a line end inside":  token[:8] + "\r\n" + token[8:],
			"a space":            " " + token,
			"a byte more":        enc.EncodeToString(append(bytes.Clone(raw), 0)),
			"a byte before":      enc.EncodeToString(append([]byte{1}, raw...)),
			"a letter more":      token + "A",
			"an end of the text": token + "\x00",
		} {
			refused(t, r, "acme", other, name)
		}
		// The last letter may carry bits that no byte holds.
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		for _, last := range alphabet {
			if other := token[:len(token)-1] + string(last); other != token {
				refused(t, r, "acme", other, "loose last letter")
			}
		}
	}
}

// Even a holder of the key cannot write one claim in two ways.
func TestSignedButPaddedNumbersAreRefused(t *testing.T) {
	r := ring(t, "k1", map[string][]byte{"k1": key1})
	sign := func(number ...byte) string {
		body := append([]byte("\x01\x02k1\x01r\x01s"), number...)
		mac, _ := r.SignWith("k1", "claim-token", append([]byte("\x04acme"), body...))
		return enc.EncodeToString(append(body, mac...))
	}
	_, _, ok := runtoken.Parse(r, "acme", sign(3))
	require.True(t, ok)
	refused(t, r, "acme", sign(0x83, 0x00), "padded number")
	refused(t, r, "acme", sign(), "no number")
	refused(t, r, "acme", sign(3, 3), "two numbers")
	refused(t, r, "acme", sign(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), "beyond int64")
}

func TestMintRefusesClaimsOutOfBounds(t *testing.T) {
	r := ring(t, "k1", map[string][]byte{"k1": key1})
	long := strings.Repeat("x", 256)
	for name, edit := range map[string]func(*runtoken.Claims){
		"no organization":     func(c *runtoken.Claims) { c.Org = "" },
		"no run":              func(c *runtoken.Claims) { c.RunID = "" },
		"no step":             func(c *runtoken.Claims) { c.StepID = "" },
		"a negative number":   func(c *runtoken.Claims) { c.Number = -1 },
		"a long organization": func(c *runtoken.Claims) { c.Org = long },
		"a long run":          func(c *runtoken.Claims) { c.RunID = long },
		"a long step":         func(c *runtoken.Claims) { c.StepID = long },
	} {
		c := claims
		edit(&c)
		_, err := runtoken.Mint(r, "k1", c)
		require.Error(t, err, name)
	}
	largest := runtoken.Claims{Org: long[:255], RunID: long[:255], StepID: long[:255], Number: math.MaxInt64}
	wide := ring(t, long[:32], map[string][]byte{long[:32]: key1})
	token := mint(t, wide, long[:32], largest)
	require.LessOrEqual(t, len(token), runtoken.MaxBytes)
	_, _, ok := runtoken.Parse(wide, largest.Org, token)
	require.True(t, ok)
}

func FuzzParse(f *testing.F) {
	r := ring(f, "k1", map[string][]byte{"k1": key1, "k2": key2})
	token := mint(f, r, "k1", claims)
	for _, seed := range []string{"", token, token + "=", token[:len(token)-1], "AQ", strings.Repeat("A", 2000)} {
		f.Add("acme", seed)
	}
	f.Fuzz(func(t *testing.T, org, text string) {
		c, kid, ok := runtoken.Parse(r, org, text)
		if !ok {
			return
		}
		require.Equal(t, text, mint(t, r, kid, c), "what is read is what would be written")
	})
}

func TestARunIDIsAFunctionOfOrganizationAndRequest(t *testing.T) {
	id := runtoken.RunID(key1, "acme", "req-1")
	require.Regexp(t, `^r_[a-z2-7]{32}$`, id)
	require.Equal(t, id, runtoken.RunID(keyring.Fixed(key1), "acme", "req-1"))
	for name, other := range map[string]string{
		"another organization": runtoken.RunID(key1, "acme2", "req-1"),
		"another request":      runtoken.RunID(key1, "acme", "req-2"),
		"another secret":       runtoken.RunID(key2, "acme", "req-1"),
		"another split":        runtoken.RunID(key1, "acmer", "eq-1"),
		"the two exchanged":    runtoken.RunID(key1, "req-1", "acme"),
	} {
		require.NotEqual(t, id, other, name)
	}
	require.Panics(t, func() { runtoken.RunID(key1[:31], "acme", "req-1") })
}
