package bearer_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/bearer"
)

var mira = identity.Caller{Org: "acme", Subject: "mira@example.com", Kind: identity.Person}

// verifier knows two credentials: one that proves mira, one that it cannot
// check now.
type verifier struct{}

func (verifier) Verify(_ context.Context, token string) (identity.Caller, time.Time, error) {
	switch token {
	case "good.token_~+/-==":
		return mira, time.Now().Add(time.Hour), nil
	case "unreachable":
		return identity.Caller{}, time.Time{}, errors.New("issuer secret-host is down")
	}
	return identity.Caller{}, time.Time{}, identity.ErrInvalidToken
}

func serve(t *testing.T, authorization ...string) (*httptest.ResponseRecorder, *identity.Caller) {
	t.Helper()
	var got *identity.Caller
	h := bearer.Middleware(verifier{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := bearer.From(r.Context()); ok {
			got = &c
		} else {
			t.Error("no caller")
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	r := httptest.NewRequest(http.MethodPost, "/mcp?access_token=good.token_~%2B/-==", nil)
	r.Header["Authorization"] = authorization
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, got
}

func TestAGoodCredentialGoesThroughWithItsCaller(t *testing.T) {
	for _, header := range []string{"Bearer good.token_~+/-==", "bearer good.token_~+/-==", "BEARER   good.token_~+/-== "} {
		w, got := serve(t, header)
		require.Equal(t, http.StatusNoContent, w.Code, header)
		require.Equal(t, &mira, got, header)
	}
}

func TestAnythingElseIsChallenged(t *testing.T) {
	invalid := `Bearer realm="agentprocess", error="invalid_token"`
	for name, c := range map[string]struct {
		headers []string
		want    string
	}{
		"no credential, and one in the query": {nil, `Bearer realm="agentprocess"`},
		"a credential that does not verify":   {[]string{"Bearer other"}, invalid},
		"another scheme":                      {[]string{"Basic bWlyYTp4"}, invalid},
		"no scheme":                           {[]string{"good.token_~+/-=="}, invalid},
		"a scheme and no credential":          {[]string{"Bearer "}, invalid},
		"an empty header":                     {[]string{""}, invalid},
		"two credentials":                     {[]string{"Bearer good.token_~+/-==", "Bearer good.token_~+/-=="}, invalid},
		"two in one":                          {[]string{"Bearer good.token_~+/-==, Bearer x"}, invalid},
		"signs that no credential has":        {[]string{"Bearer good\"token"}, invalid},
		"an oversized credential":             {[]string{"Bearer " + strings.Repeat("x", identity.MaxTokenBytes+1)}, invalid},
	} {
		w, got := serve(t, c.headers...)
		require.Nil(t, got, name)
		require.Equal(t, http.StatusUnauthorized, w.Code, name)
		require.Equal(t, []string{c.want}, w.Header().Values("WWW-Authenticate"), name)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"), name)
	}
}

func TestACredentialThatCannotBeCheckedNowIsNotRefused(t *testing.T) {
	w, got := serve(t, "Bearer unreachable")
	require.Nil(t, got)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.NotEmpty(t, w.Header().Get("Retry-After"))
	require.Empty(t, w.Header().Get("WWW-Authenticate"))
	require.NotContains(t, w.Body.String(), "secret-host")
}

func TestFromAnotherContextIsNobody(t *testing.T) {
	_, ok := bearer.From(context.Background())
	require.False(t, ok)
	c, ok := bearer.From(bearer.With(context.Background(), mira))
	require.True(t, ok)
	require.Equal(t, mira, c)
}
