package payloadcodec_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/bearer"
	"github.com/agentprocess-temporal/server/internal/payloadcodec"
)

const ui = "https://temporal.example.com"

// verifier knows one credential for each kind of caller.
type verifier struct{}

func (verifier) Verify(_ context.Context, token string) (identity.Caller, time.Time, error) {
	callers := map[string]identity.Caller{
		"operator":  {Org: "acme", Subject: "ops@example.com", Kind: identity.Person, Operator: true},
		"publisher": {Org: "acme", Subject: "lena@example.com", Kind: identity.Person, Publisher: true, Groups: []string{"operators"}},
		"agent":     {Org: "acme", Subject: "a1", Kind: identity.Agent},
	}
	c, ok := callers[token]
	if !ok {
		return identity.Caller{}, time.Time{}, identity.ErrInvalidToken
	}
	return c, time.Now().Add(time.Hour), nil
}

func authenticate(next http.Handler) http.Handler { return bearer.Middleware(verifier{}, next) }

func serve(t *testing.T, c converter.PayloadCodec) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/codec/", payloadcodec.Handler(c, authenticate, []string{ui, "http://127.0.0.1:8233"}))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/codec"
}

func do(t *testing.T, method, address, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = w.Body.Close() }()
	text, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return w, string(text)
}

// wire is the body that asks to decode `"Northwind"`.
func wire(t *testing.T, c converter.PayloadCodec) string {
	t.Helper()
	p := encrypted(t, c, plain(`"Northwind"`))
	return `{"payloads":[{"metadata":{"encoding":"` + b64([]byte(payloadcodec.Encoding)) +
		`","encryption-key-id":"` + b64([]byte("k1")) + `"},"data":"` + b64(p.Data) + `"}]}`
}

func TestAnOperatorDecodesAndEncodesWithTemporalsOwnClient(t *testing.T) {
	c := payloadcodec.New(keys(t, "k1:"+b64(key1)))
	remote := converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{
		Endpoint: serve(t, c),
		ModifyRequest: func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer operator")
			r.Header.Set("X-Namespace", "default")
			return nil
		},
	})
	out, err := remote.Encode([]*commonpb.Payload{plain("a"), plain("b")})
	require.NoError(t, err)
	require.Equal(t, payloadcodec.Encoding, string(out[0].Metadata[converter.MetadataEncoding]))
	for i, want := range []string{"a", "b"} {
		local, err := decrypt(c, out[i])
		require.NoError(t, err)
		requireSame(t, plain(want), local)
	}
	back, err := remote.Decode(append(out, plain("old")))
	require.NoError(t, err)
	for i, want := range []string{"a", "b", "old"} {
		requireSame(t, plain(want), back[i])
	}
}

func TestOnlyOperatorsMayDecode(t *testing.T) {
	c := payloadcodec.New(keys(t, "k1:"+b64(key1)))
	at := serve(t, c)
	for name, want := range map[string]int{
		"operator": http.StatusOK, "publisher": http.StatusForbidden, "agent": http.StatusForbidden, "forged": http.StatusUnauthorized,
	} {
		for _, path := range []string{"/decode", "/encode", "/acme/decode"} {
			w, text := do(t, http.MethodPost, at+path, wire(t, c), "Authorization", "Bearer "+name)
			require.Equal(t, want, w.StatusCode, "%s %s", name, path)
			require.Equal(t, "no-store", w.Header.Get("Cache-Control"))
			readable := want == http.StatusOK && path != "/encode"
			require.Equal(t, readable, strings.Contains(text, b64([]byte(`"Northwind"`))), "%s %s", name, path)
		}
	}
	w, _ := do(t, http.MethodPost, at+"/decode", wire(t, c))
	require.Equal(t, http.StatusUnauthorized, w.StatusCode)
	w, _ = do(t, http.MethodPost, at+"/decode?access_token=operator", wire(t, c), "Cookie", "Authorization=Bearer operator")
	require.Equal(t, http.StatusUnauthorized, w.StatusCode)
}

func TestWhoIsNotNamedIsNoOperator(t *testing.T) {
	c := payloadcodec.New(keys(t, "k1:"+b64(key1)))
	h := payloadcodec.Handler(c, func(next http.Handler) http.Handler { return next }, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/decode", strings.NewReader(wire(t, c))))
	require.Equal(t, http.StatusForbidden, w.Code)
}

func TestWhatCannotBeDecodedIsABadRequest(t *testing.T) {
	at := serve(t, payloadcodec.New(keys(t, "k2:"+b64(key2))))
	body := wire(t, payloadcodec.New(keys(t, "k1:"+b64(key1))))
	w, text := do(t, http.MethodPost, at+"/decode", body, "Authorization", "Bearer operator")
	require.Equal(t, http.StatusBadRequest, w.StatusCode)
	require.Contains(t, text, `encrypted with key "k1"`)

	w, _ = do(t, http.MethodPost, at+"/decode", "{", "Authorization", "Bearer operator")
	require.Equal(t, http.StatusBadRequest, w.StatusCode)
	w, _ = do(t, http.MethodGet, at+"/decode", "", "Authorization", "Bearer operator")
	require.Equal(t, http.StatusNotFound, w.StatusCode)
	w, _ = do(t, http.MethodPost, at+"/other", body, "Authorization", "Bearer operator")
	require.Equal(t, http.StatusNotFound, w.StatusCode)
}

func TestALargeBodyIsRefused(t *testing.T) {
	h := payloadcodec.Handler(payloadcodec.New(keys(t, "k1:"+b64(key1))), authenticate, nil)
	status := func(body io.Reader) int {
		r := httptest.NewRequest(http.MethodPost, "/decode", body)
		r.Header.Set("Authorization", "Bearer operator")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, http.StatusOK, status(strings.NewReader("{}"+strings.Repeat(" ", payloadcodec.MaxBodyBytes-2))))
	require.Equal(t, http.StatusRequestEntityTooLarge, status(strings.NewReader("{}"+strings.Repeat(" ", payloadcodec.MaxBodyBytes-1))))
	require.Equal(t, http.StatusBadRequest, status(io.MultiReader(strings.NewReader("{}"), broken{})))
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("gone") }

func TestThePreflightOfAKnownOriginNeedsNoCredential(t *testing.T) {
	at := serve(t, payloadcodec.New(keys(t, "k1:"+b64(key1))))
	for _, origin := range []string{ui, "http://127.0.0.1:8233"} {
		w, text := do(t, http.MethodOptions, at+"/decode", "", "Origin", origin,
			"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type,x-namespace")
		require.Equal(t, http.StatusNoContent, w.StatusCode)
		require.Empty(t, text)
		require.Equal(t, origin, w.Header.Get("Access-Control-Allow-Origin"))
		require.Equal(t, "authorization, content-type, x-namespace", w.Header.Get("Access-Control-Allow-Headers"))
		require.Equal(t, "POST", w.Header.Get("Access-Control-Allow-Methods"))
		require.Equal(t, "true", w.Header.Get("Access-Control-Allow-Credentials"))
		require.Equal(t, "Origin", w.Header.Get("Vary"))
	}
}

func TestAKnownOriginReadsAnswersAndRefusals(t *testing.T) {
	c := payloadcodec.New(keys(t, "k1:"+b64(key1)))
	at := serve(t, c)
	for token, want := range map[string]int{"operator": http.StatusOK, "agent": http.StatusForbidden, "forged": http.StatusUnauthorized} {
		w, _ := do(t, http.MethodPost, at+"/decode", wire(t, c), "Origin", ui, "Authorization", "Bearer "+token)
		require.Equal(t, want, w.StatusCode)
		require.Equal(t, ui, w.Header.Get("Access-Control-Allow-Origin"))
		require.Equal(t, "Origin", w.Header.Get("Vary"))
	}
}

func TestAnotherOriginIsRefusedWhateverItsCredential(t *testing.T) {
	c := payloadcodec.New(keys(t, "k1:"+b64(key1)))
	at := serve(t, c)
	for _, origin := range []string{"https://evil.example", "null", "*", "", "http://temporal.example.com", ui + ".evil.example", ui + ":8443"} {
		for _, method := range []string{http.MethodOptions, http.MethodPost} {
			w, text := do(t, method, at+"/decode", wire(t, c), "Origin", origin, "Authorization", "Bearer operator")
			require.Equal(t, http.StatusForbidden, w.StatusCode, "%s %q", method, origin)
			require.NotContains(t, text, b64([]byte(`"Northwind"`)))
			for name := range w.Header {
				require.NotContains(t, name, "Access-Control", "%s %q", method, origin)
			}
		}
	}
	w, _ := do(t, http.MethodPost, at+"/decode", wire(t, c), "Origin", ui, "Origin", "https://evil.example", "Authorization", "Bearer operator")
	require.Equal(t, http.StatusForbidden, w.StatusCode, "two origins")
}

func TestOriginsAreReadInTheFormThatBrowsersSend(t *testing.T) {
	got, err := payloadcodec.ParseOrigins(" https://Temporal.Example.com/ ,http://127.0.0.1:8233\nhttps://a.example:443,http://b.example:80,https://c.example:80,http://[::1]:8233,")
	require.NoError(t, err)
	require.Equal(t, []string{ui, "http://127.0.0.1:8233", "https://a.example", "http://b.example", "https://c.example:80", "http://[::1]:8233"}, got)

	got, err = payloadcodec.ParseOrigins("")
	require.NoError(t, err)
	require.Empty(t, got)

	for _, text := range []string{
		"*", "https://*.example.com", "temporal.example.com", "127.0.0.1:8233", "https://", "https://:8233", "ftp://a.example", "null",
		"https://a.example/ui", "https://a.example?x", "https://a.example#x", "https://u@a.example", "https://a.example:port",
	} {
		_, err := payloadcodec.ParseOrigins("https://fine.example," + text)
		require.ErrorContains(t, err, `origin "`+text+`"`)
	}
}
