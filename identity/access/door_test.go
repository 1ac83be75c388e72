package access

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity/bearer"
	"github.com/agentprocess-temporal/server/identity/idptest"
	"github.com/agentprocess-temporal/server/identity/trust"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
)

const metadataURL = "https://process.test/.well-known/oauth-protected-resource/mcp"

func TestABadTokenIsRefusedWithTheHeaderThatLeadsToAGoodOne(t *testing.T) {
	w := start(t)
	good := w.TokenWith(idptest.Claims{"org": "acme", "azp": "bot", "sub": "bot"})
	now := time.Now().Unix()
	claims := func(changes idptest.Claims) string {
		all := idptest.Claims{"org": "acme", "azp": "bot", "sub": "bot"}
		for k, v := range changes {
			all[k] = v
		}
		return w.TokenWith(all)
	}
	for name, token := range map[string]string{
		"expired":              claims(idptest.Claims{"exp": now - 60}),
		"not yet valid":        claims(idptest.Claims{"nbf": now + 300}),
		"for another audience": claims(idptest.Claims{"aud": "https://other.test/mcp"}),
		"of another issuer":    claims(idptest.Claims{"iss": "https://evil.test"}),
		"without expiry":       claims(idptest.Claims{"exp": nil}),
		"of no organization":   claims(idptest.Claims{"org": nil}),
		"truncated":            good[:len(good)-10],
		"oversized":            claims(idptest.Claims{"x": strings.Repeat("x", 9000)}),
		"alg none":             "eyJhbGciOiJub25lIiwia2lkIjoiazEifQ." + strings.Split(good, ".")[1] + ".",
		"no token":             "nonsense",
		"another's signature":  good[:strings.LastIndex(good, ".")] + claims(idptest.Claims{"sub": "x"})[strings.LastIndex(good, "."):],
	} {
		for _, path := range []string{"/mcp", "/api/processes"} {
			res, text := w.http(token, "POST", path, "{}")
			require.Equal(t, http.StatusUnauthorized, res.StatusCode, "%s at %s", name, path)
			require.Equal(t, `Bearer realm="agentprocess", error="invalid_token", resource_metadata="`+metadataURL+`"`, res.Header.Get("WWW-Authenticate"), name)
			require.Equal(t, "{\"error\":\"invalid_token\"}\n", text, name)
		}
	}
	res, _ := w.http("", "POST", "/mcp", "{}")
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	require.Equal(t, `Bearer realm="agentprocess", resource_metadata="`+metadataURL+`"`, res.Header.Get("WWW-Authenticate"), "no token is no error")
	res, _ = w.http(good, "GET", "/api/processes?access_token="+good, "")
	require.Equal(t, http.StatusForbidden, res.StatusCode)
}

func TestAHugeHeaderIsNotRead(t *testing.T) {
	w := start(t)
	res, _ := w.http(strings.Repeat("x", 200<<10), "GET", "/api/processes", "")
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, res.StatusCode)
}

func TestAGoodTokenThatLacksARequiredScopeIsToldWhich(t *testing.T) {
	w := start(t)
	w.Stop()
	w.Options.Trust.Issuers[0].RequiredScopes = []string{"agentprocess"}
	w.Run()
	res, text := w.http(w.Token(A1), "POST", "/mcp", "{}")
	require.Equal(t, http.StatusForbidden, res.StatusCode)
	require.Equal(t, "{\"error\":\"insufficient_scope\"}\n", text)
	require.Equal(t, `Bearer realm="agentprocess", error="insufficient_scope", scope="agentprocess", resource_metadata="`+metadataURL+`"`, res.Header.Get("WWW-Authenticate"))
	res, _ = w.http(w.TokenWith(idptest.Claims{"org": "acme", "azp": "a1", "sub": "a1", "scope": "agentprocess"}), "GET", "/api/processes", "")
	require.Equal(t, http.StatusForbidden, res.StatusCode, "an agent, but let in")
}

func TestAGoodTokenWithoutARightIsToldWhichScopeWouldGiveIt(t *testing.T) {
	w := start(t)
	insufficient := func(scope string) string {
		if scope != "" {
			scope = `, scope="` + scope + `"`
		}
		return `Bearer realm="agentprocess", error="insufficient_scope"` + scope + `, resource_metadata="` + metadataURL + `"`
	}
	pia := w.TokenWith(idptest.Claims{"org": "acme", "azp": HumanClient, "sub": "u9", "email": "pia@example.com", "scope": "publish"})
	for _, c := range []struct{ method, path, scope string }{
		{"GET", "/api/processes", "publish"},
		{"POST", "/api/processes", "publish"},
		{"PUT", "/api/processes/onboarding/roles", "publish"},
		{"POST", "/api/processes/onboarding/publish", "publish"},
		{"GET", "/api/processes/onboarding/checks", "publish"},
		{"DELETE", "/api/runs/r_none", "operate"},
		{"GET", "/api/audit", "operate"},
	} {
		body := ""
		if c.method == "PUT" {
			body = `{"role":"finance"}`
		}
		refused := func(token, scope string) {
			res, text := w.http(token, c.method, c.path, body)
			require.Equal(t, http.StatusForbidden, res.StatusCode, "%s %s: %s", c.method, c.path, text)
			require.Equal(t, []string{insufficient(scope)}, res.Header.Values("WWW-Authenticate"), "%s %s", c.method, c.path)
			require.Contains(t, text, `"forbidden"`)
		}
		refused(w.Token(Mira), c.scope)
		refused(w.Token(A1), "") // no scope makes an agent a person
		if c.scope == "operate" {
			refused(pia, c.scope)
		} else if c.method == "GET" {
			res, _ := w.http(pia, c.method, c.path, body)
			require.Equal(t, http.StatusOK, res.StatusCode, c.path)
			require.Empty(t, res.Header.Get("WWW-Authenticate"))
		}
	}
}

func TestAPersonWhoMayNotIsToldWhichScopeWouldDo(t *testing.T) {
	w := start(t)
	person := idptest.Claims{"org": "acme", "azp": HumanClient, "sub": "u2", "email": "lena@example.com"}
	for _, c := range []struct{ method, path, scope string }{
		{"GET", "/api/processes", "publish"},
		{"POST", "/api/processes/p/publish", "publish"},
		{"GET", "/api/audit", "operate"},
		{"DELETE", "/api/runs/r_1", "operate"},
	} {
		res, text := w.http(w.TokenWith(person), c.method, c.path, "")
		require.Equal(t, http.StatusForbidden, res.StatusCode, c.path)
		require.Contains(t, text, `"forbidden"`, c.path)
		require.Equal(t, `Bearer realm="agentprocess", error="insufficient_scope", scope="`+c.scope+`", resource_metadata="`+metadataURL+`"`,
			res.Header.Get("WWW-Authenticate"), c.path)
	}
	res, _ := w.http(w.TokenWith(idptest.Claims{"org": "acme", "azp": HumanClient, "sub": "u5", "email": "pub@example.com", "scope": "publish"}), "GET", "/api/processes", "")
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Empty(t, res.Header.Get("WWW-Authenticate"))
}

func TestTheResourceDescribesItself(t *testing.T) {
	w := start(t)
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		res, text := w.http("", "GET", path, "")
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Equal(t, "*", res.Header.Get("Access-Control-Allow-Origin"))
		var m bearer.Metadata
		require.NoError(t, json.Unmarshal([]byte(text), &m))
		require.Equal(t, Resource, m.Resource)
		require.Equal(t, []string{w.Options.Trust.Issuers[0].URL}, m.AuthorizationServers)
		require.Equal(t, []string{"header"}, m.BearerMethods)
		require.Equal(t, []string{"operate", "publish"}, m.ScopesSupported)
	}
	res, _ := w.http("", "POST", "/.well-known/oauth-protected-resource", "")
	require.Equal(t, http.StatusMethodNotAllowed, res.StatusCode)
	res, _ = w.http("", "GET", "/.well-known/oauth-protected-resource/other", "")
	require.Equal(t, http.StatusNotFound, res.StatusCode)
}

func TestEveryAnswerCarriesSecurityHeaders(t *testing.T) {
	w := start(t)
	for _, path := range []string{"/healthz", "/mcp", "/api/processes", "/files/x", "/nothing", "/schemas/core-2/index.json"} {
		res, _ := w.http("", "GET", path, "")
		for name, part := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Content-Security-Policy": "default-src 'none'",
		} {
			require.Contains(t, res.Header.Get(name), part, path)
		}
	}
}

func TestAPageInABrowserOnTheSameMachineGetsNowhere(t *testing.T) {
	w := start(t)
	send := func(change func(r *http.Request)) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+"/api/processes", strings.NewReader(process))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+w.Token(Boss))
		change(req)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	require.Equal(t, http.StatusCreated, send(func(*http.Request) {}))
	require.Equal(t, http.StatusForbidden, send(func(r *http.Request) { r.Host = "rebound.example:8080" }))
	require.Equal(t, http.StatusForbidden, send(func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }))
	require.Equal(t, http.StatusForbidden, send(func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }))
	require.Equal(t, http.StatusCreated, send(func(r *http.Request) { r.Host = "localhost:1234" }))
}

func TestACallerBeyondItsRateIsAskedToRetry(t *testing.T) {
	w := start(t, func(o *server.Options) { o.Rate = trust.Rate{PerSecond: 0.001, Burst: 5} })
	a := w.with(w.Token(A2))
	for range 5 {
		require.Equal(t, "ok", outcome(w.call(a, "describe", Args{})))
	}
	require.Equal(t, "retry", outcome(w.call(a, "describe", Args{})))
	require.Equal(t, "retry", outcome(w.call(w.with(w.Token(A2)), "claim", Args{"runId": "r", "stepId": "s", "requestId": ID()})), "in another session, too")
	require.Equal(t, "ok", outcome(w.call(w.with(w.Token(A1)), "describe", Args{})), "others call as before")
	for range 4 { // one is left of what start used
		w.http(w.Token(Boss), "GET", "/api/processes", "")
	}
	res, _ := w.http(w.Token(Boss), "GET", "/api/processes", "")
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	require.NotEmpty(t, res.Header.Get("Retry-After"))
}
