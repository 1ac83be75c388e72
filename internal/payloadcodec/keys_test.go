package payloadcodec_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/payloadcodec"
)

var (
	key1 = bytes.Repeat([]byte{1}, payloadcodec.KeyBytes)
	key2 = bytes.Repeat([]byte{2}, payloadcodec.KeyBytes)
	b64  = base64.StdEncoding.EncodeToString
)

func keys(t testing.TB, text string) *payloadcodec.Keys {
	t.Helper()
	k, err := payloadcodec.ParseKeys(text)
	require.NoError(t, err)
	return k
}

func TestKeysAreSeparatedByCommasOrLinesAndTheFirstEncrypts(t *testing.T) {
	for _, text := range []string{
		"k2:" + b64(key2) + ",k1:" + b64(key1),
		"  k2:" + b64(key2) + " , k1:" + b64(key1) + ",\n",
		"k2:" + b64(key2) + "\r\nk1:" + b64(key1) + "\n",
	} {
		require.Equal(t, "k2", keys(t, text).Current())
		require.Equal(t, "payload keys(2, k2 encrypts)", keys(t, text).String())
	}
}

func TestParseKeysRefuses(t *testing.T) {
	good := "k1:" + b64(key1)
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                {"", "none"},
		"blanks":                 {" ,\n, ", "none"},
		"a key without an id":    {b64(key2), "entry 1: expected id:key"},
		"an id of other signs":   {good + ",k.2:" + b64(key2), "entry 2: expected id:key"},
		"an id that is too long": {strings.Repeat("k", 33) + ":" + b64(key2), "entry 1: expected id:key"},
		"a short key":            {"k1:" + b64(key2[:31]), "31 bytes, exactly 32"},
		"an AES-128 key":         {"k1:" + b64(key2[:16]), "16 bytes, exactly 32"},
		"a long key":             {"k1:" + b64(append(bytes.Clone(key2), 2)), "33 bytes, exactly 32"},
		"text that is no base64": {"k1:" + strings.Repeat("!", 44), "entry 1: the key is not standard base64"},
		"loose base64":           {"k1:" + strings.Replace(b64(key1), "E=", "F=", 1), "entry 1: the key is not standard base64"},
		"an id twice":            {good + ",k1:" + b64(key2), "entry 2: the id of an earlier entry"},
		"a key twice":            {good + ",k2:" + b64(key1), "entry 2: the key of an earlier entry"},
		"all of it at once":      {"x,k1:!", "entry 1: expected id:key"},
		"all of it, to the last": {"x,k1:!", "entry 2: the key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := payloadcodec.ParseKeys(c.text)
			require.ErrorContains(t, err, c.want)
			for _, secret := range []string{b64(key1)[:12], b64(key2)[:12], "!"} {
				require.NotContains(t, err.Error(), secret, "no secret in an error")
			}
		})
	}
}

func TestKeysAreNeverPrinted(t *testing.T) {
	secret := []byte("0123456789abcdef0123456789abcdef")
	k := keys(t, "k1:"+b64(secret))
	codec := payloadcodec.New(k)

	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q", "%c"} {
		fmt.Fprintf(&out, verb+" "+verb+" "+verb+"\n", k, *k, codec)
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "keys", k, "codec", codec)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "keys", k, "codec", codec)
	text, err := json.Marshal([]any{k, codec})
	require.NoError(t, err)
	out.Write(text)

	require.Contains(t, out.String(), "k1 encrypts")
	// The key schedule of AES begins with the key, as words.
	for _, leak := range []string{string(secret), fmt.Sprintf("%x", secret[:4]), fmt.Sprint(secret[0], secret[1]), b64(secret)[:12], "0x3736353", fmt.Sprint(0x33323130)} {
		require.NotContains(t, out.String(), leak)
	}
}
