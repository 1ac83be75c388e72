package keyring_test

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/keyring"
)

var (
	key1 = bytes.Repeat([]byte{1}, 32)
	key2 = bytes.Repeat([]byte{2}, 32)
	b64  = base64.StdEncoding.EncodeToString
)

func ring(t *testing.T, text string) *keyring.Ring {
	t.Helper()
	r, err := keyring.Parse(text)
	require.NoError(t, err)
	return r
}

func TestTheFirstKeySignsAndAllVerify(t *testing.T) {
	before := ring(t, "k1:"+b64(key1))
	after := ring(t, "k2:"+b64(key2)+",k1:"+b64(key1))
	without := ring(t, "k2:"+b64(key2))
	msg := []byte("message")

	kid, mac := before.Sign("p", msg)
	require.Equal(t, "k1", kid)
	require.Len(t, mac, keyring.MACBytes)
	require.True(t, after.Verify(kid, "p", msg, mac), "a retired key verifies")
	require.False(t, without.Verify(kid, "p", msg, mac), "a removed key does not")

	kid, mac2 := after.Sign("p", msg)
	require.Equal(t, "k2", kid)
	require.Equal(t, "k2", after.Current())
	require.NotEqual(t, mac, mac2)

	again, ok := after.SignWith("k1", "p", msg)
	require.True(t, ok)
	require.Equal(t, mac, again, "a retired key signs what it signed before")
	_, ok = without.SignWith("k1", "p", msg)
	require.False(t, ok)
	require.True(t, after.Has("k1"))
	require.False(t, without.Has("k1"))
}

// The bytes are part of what rotation and restarts rely on: a change of the
// construction would end every token in use.
func TestASignatureIsHMACUnderAKeyDerivedForThePurpose(t *testing.T) {
	sub, err := hkdf.Key(sha256.New, key1, nil, "agentprocess/1 p", 32)
	require.NoError(t, err)
	h := hmac.New(sha256.New, sub)
	h.Write([]byte("message"))

	_, mac := ring(t, "k1:"+b64(key1)).Sign("p", []byte("message"))
	require.Equal(t, h.Sum(nil), mac)
}

func TestVerifyRefusesWhatDiffers(t *testing.T) {
	r := ring(t, "k1:"+b64(key1)+",k2:"+b64(key2))
	msg := []byte("message")
	kid, mac := r.Sign("p", msg)
	require.True(t, r.Verify(kid, "p", msg, mac))

	flipped := bytes.Clone(mac)
	flipped[31] ^= 1
	for name, ok := range map[string]bool{
		"another purpose":     r.Verify(kid, "q", msg, mac),
		"another message":     r.Verify(kid, "p", []byte("massage"), mac),
		"another key":         r.Verify("k2", "p", msg, mac),
		"an unknown key":      r.Verify("k3", "p", msg, mac),
		"no key":              r.Verify("", "p", msg, mac),
		"a flipped bit":       r.Verify(kid, "p", msg, flipped),
		"a shorter signature": r.Verify(kid, "p", msg, mac[:31]),
		"a longer signature":  r.Verify(kid, "p", msg, append(bytes.Clone(mac), 0)),
		"no signature":        r.Verify(kid, "p", msg, nil),
		// Were purpose and message just joined, these two would be one.
		"a shifted border": r.Verify(kid, "pm", []byte("essage"), mac),
	} {
		require.False(t, ok, name)
	}
}

func TestARingKeepsNoReferenceToTheCallersBytes(t *testing.T) {
	key := bytes.Clone(key1)
	r, err := keyring.New("k1", map[string][]byte{"k1": key})
	require.NoError(t, err)
	clear(key)
	_, want := ring(t, "k1:"+b64(key1)).Sign("p", nil)
	_, got := r.Sign("p", nil)
	require.Equal(t, want, got)
}

func TestConcurrentUse(t *testing.T) {
	r := ring(t, "k1:"+b64(key1))
	_, want := ring(t, "k1:"+b64(key1)).Sign("p7", []byte("m"))
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() { r.Sign(fmt.Sprintf("p%d", i%8), []byte("m")) })
	}
	wg.Wait()
	_, got := r.Sign("p7", []byte("m"))
	require.Equal(t, want, got)
}

func TestParseTakesCommasAndLines(t *testing.T) {
	for _, text := range []string{
		"k2:" + b64(key2) + ",k1:" + b64(key1),
		"  k2:" + b64(key2) + " , k1:" + b64(key1) + ",\n",
		"k2:" + b64(key2) + "\r\nk1:" + b64(key1) + "\n",
	} {
		r := ring(t, text)
		require.Equal(t, "k2", r.Current())
		require.True(t, r.Has("k1"))
	}
}

func TestParseRefuses(t *testing.T) {
	good := "k1:" + b64(key1)
	for name, c := range map[string]struct{ text, want string }{
		"nothing":             {"", "no keys"},
		"blanks":              {" ,\n, ", "no keys"},
		"a key without an id": {b64(key2), "entry 1: expected id:key"},
		"an id of other signs": {good + ",k.2:" + b64(key2),
			"entry 2: expected id:key"},
		"an id that is too long": {strings.Repeat("k", 33) + ":" + b64(key2), "entry 1: expected id:key"},
		"a short key":            {"k1:" + b64(key1[:31]), `key "k1": 31 bytes`},
		"text that is no base64": {"k1:" + strings.Repeat("!", 44), "entry 1: the key is not standard base64"},
		"loose base64":           {"k1:" + strings.Replace(b64(key1), "E=", "F=", 1), "entry 1: the key is not standard base64"},
		"an id twice":            {good + ",k1:" + b64(key2), "entry 2: the id of an earlier entry"},
		"a key twice":            {good + ",k2:" + b64(key1), "are the same"},
		"all of it at once":      {"x,k1:!", "entry 2: the key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := keyring.Parse(c.text)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), b64(key2), "no secret in an error")
		})
	}
}

func TestNewNeedsItsCurrentKey(t *testing.T) {
	_, err := keyring.New("k2", map[string][]byte{"k1": key1})
	require.ErrorContains(t, err, "current key")
	_, err = keyring.New("", nil)
	require.Error(t, err)
}

func TestFilesAreMadeOnceAndReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	_, err := keyring.Load(path)
	require.ErrorIs(t, err, os.ErrNotExist)

	first, err := keyring.LoadOrCreate(path)
	require.NoError(t, err)
	for _, load := range []func(string) (*keyring.Ring, error){keyring.LoadOrCreate, keyring.Load} {
		again, err := load(path)
		require.NoError(t, err)
		kid, mac := first.Sign("p", []byte("m"))
		require.True(t, again.Verify(kid, "p", []byte("m"), mac))
	}

	fixedPath := filepath.Join(t.TempDir(), "fixed")
	fixed, err := keyring.LoadOrCreateFixed(fixedPath)
	require.NoError(t, err)
	require.Len(t, fixed, keyring.MinKeyBytes)
	again, err := keyring.LoadOrCreateFixed(fixedPath)
	require.NoError(t, err)
	require.Equal(t, []byte(fixed), []byte(again))

	require.NoError(t, os.WriteFile(path, []byte("nonsense"), 0o600))
	_, err = keyring.Load(path)
	require.ErrorContains(t, err, path)
}

func TestGenerateIsNeverTheSame(t *testing.T) {
	require.NotEqual(t, keyring.Generate(), keyring.Generate())
	ring(t, "k1:"+keyring.Generate())
}

func TestParseFixedRefusesWeakSecrets(t *testing.T) {
	_, err := keyring.ParseFixed(b64(key1[:31]))
	require.ErrorContains(t, err, "31 bytes")
	_, err = keyring.ParseFixed("not base64")
	require.ErrorContains(t, err, "base64")
	f, err := keyring.ParseFixed(" " + b64(key1) + "\n")
	require.NoError(t, err)
	require.Equal(t, key1, []byte(f))
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	secret := []byte("0123456789abcdef0123456789abcdef")
	r, err := keyring.New("k1", map[string][]byte{"k1": secret})
	require.NoError(t, err)
	fixed := keyring.Fixed(secret)
	r.Sign("p", nil)

	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		fmt.Fprintf(&out, verb+"\n", fixed)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		fmt.Fprintf(&out, verb+"\n", r)
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "ring", r, "fixed", fixed)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "ring", r, "fixed", fixed)
	text := out.String()
	require.Contains(t, text, "k1 signs")
	for _, leak := range []string{string(secret), fmt.Sprintf("%x", secret[:4]), fmt.Sprint(secret[0], secret[1]), b64(secret)[:12]} {
		require.NotContains(t, text, leak)
	}
}
