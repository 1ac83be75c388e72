package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/httpapi"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/audit"
	"github.com/agentprocess-temporal/server/identity/bearer"
	"github.com/agentprocess-temporal/server/identity/devlogin"
	"github.com/agentprocess-temporal/server/identity/guard"
	"github.com/agentprocess-temporal/server/identity/trust"
	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/operations"
)

// oauthServer serves the API to who signed in at an authorization server of its
// own, and returns its address.
func oauthServer(t *testing.T) string {
	t.Helper()
	for _, name := range []string{serverVariable, tokenVariable, clientVariable} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	directory, err := identity.ParseDirectory([]byte(people))
	require.NoError(t, err)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	var provider, api http.Handler
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { provider.ServeHTTP(w, r) }))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { api.ServeHTTP(w, r) }))
	t.Cleanup(login.Close)
	t.Cleanup(server.Close)
	p, err := devlogin.New(devlogin.Options{
		Issuer: login.URL, Resource: server.URL + "/mcp", Key: key, Directory: func() *identity.Directory { return directory },
	})
	require.NoError(t, err)
	provider = p
	config, err := trust.ParseConfig([]byte(p.IdentityFile(directory.Org())))
	require.NoError(t, err)
	known := &identity.People{Policy: config.People, Directories: identity.NewRegistry(directory)}
	pool, log := testenv.Pool(t), slog.New(slog.DiscardHandler)
	calls := guard.New(&operations.Service{Pool: pool, People: known, Log: log}, guard.Options{DB: pool, Log: log})
	mux := http.NewServeMux()
	mux.Handle("/.well-known/oauth-protected-resource/mcp", bearer.Metadata{
		Resource: config.Resource, AuthorizationServers: []string{login.URL},
	}.Handler())
	mux.Handle("/api/", bearer.Middleware(known.Verifier(trust.New(config, trust.Options{})), httpapi.New(calls)))
	api = mux
	return server.URL
}

// browserOf signs in as somebody, as a browser does.
func browserOf(t *testing.T, email string) func(context.Context, string) error {
	return func(_ context.Context, address string) error {
		go func() {
			res, err := http.Get(address) //nolint:noctx // on loopback, in a test
			if err != nil {
				t.Error(err)
				return
			}
			page, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			id := regexp.MustCompile(`name="id" value="([^"]*)"`).FindSubmatch(page)
			if id == nil {
				t.Errorf("no page to sign in at: %s", page)
				return
			}
			res, err = http.PostForm(res.Request.URL.ResolveReference(&url.URL{Path: "/login"}).String(), //nolint:noctx // likewise
				url.Values{"id": {string(id[1])}, "email": {email}})
			if err != nil {
				t.Error(err)
				return
			}
			done, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if !strings.Contains(string(done), "You can close this window") {
				t.Errorf("the browser ends at: %s", done)
			}
		}()
		return nil
	}
}

// signIn keeps a sign-in, as the login command does.
func signIn(t *testing.T, base, email string) savedLogin {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l := login{client: defaultClient, scopes: []string{"openid", "offline_access"}, out: io.Discard, open: browserOf(t, email)}
	saved, err := l.run(ctx, base)
	require.NoError(t, err)
	_, err = keepLogin(base, *saved)
	require.NoError(t, err)
	return *saved
}

func TestWhoSignsInIsAPersonForTheOtherCommands(t *testing.T) {
	base := oauthServer(t)
	r := program(t, "processes", "--server", base)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, "agentprocess login")

	signIn(t, base, "pia@example.com")
	path, err := loginFile()
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	r = program(t, "import", folder(t, "tiny", tiny("tiny")), "--server", base)
	require.Zero(t, r.code, r.stderr)
	r = program(t, "audit", "--server", base)
	require.Equal(t, 1, r.code, "she is no operator")
	require.Contains(t, r.stderr, "forbidden")

	signIn(t, base, "ops@example.com")
	r = program(t, "audit", "--server", base, "--action", guard.Import)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 3, strings.Count(r.stdout, "\n"), r.stdout)
	require.Regexp(t, `person:pia@example\.com +agentprocess-cli +import_process +tiny +ok`, r.stdout)
	r = program(t, "audit", "--server", base, "--result", "forbidden", "--json")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, `"action":"read_audit"`)

	require.Zero(t, program(t, "logout", "--server", base+"/").code)
	require.Equal(t, 2, program(t, "processes", "--server", base).code)
	require.Equal(t, 1, program(t, "logout", "--server", base).code)
}

func TestASignInIsRenewedWhenItsTokenHasEnded(t *testing.T) {
	base := oauthServer(t)
	saved := signIn(t, base, "pia@example.com")
	first := saved.Token.RefreshToken
	saved.Token.Expiry = time.Now().Add(-time.Minute)
	_, err := keepLogin(base, saved)
	require.NoError(t, err)
	require.Zero(t, program(t, "processes", "--server", base).code)
	_, all, err := readLogins()
	require.NoError(t, err)
	require.NotEqual(t, first, all[base].Token.RefreshToken)
	require.True(t, all[base].Token.Valid())

	saved.Token.RefreshToken = first // used already
	_, err = keepLogin(base, saved)
	require.NoError(t, err)
	r := program(t, "processes", "--server", base)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "sign in again")
}

func TestTheAnswerOfAnotherSignInIsNotTaken(t *testing.T) {
	base := oauthServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	l := login{client: defaultClient, out: io.Discard, open: func(_ context.Context, address string) error {
		u, err := url.Parse(address)
		require.NoError(t, err)
		redirect := u.Query().Get("redirect_uri")
		for _, query := range []string{"?code=x&state=y", "?code=x", ""} {
			res, err := http.Get(redirect + query) //nolint:noctx // on loopback, in a test
			require.NoError(t, err)
			require.Equal(t, http.StatusBadRequest, res.StatusCode)
			require.NoError(t, res.Body.Close())
		}
		return nil
	}}
	_, err := l.run(ctx, base)
	require.EqualError(t, err, "nobody signed in")
}

func TestWhereToSignInMustBeSafe(t *testing.T) {
	t.Setenv(serverVariable, "")
	for _, address := range []string{"http://process.example.com", "http://10.1.2.3:8080"} {
		_, err := discover(t.Context(), address)
		require.ErrorContains(t, err, "neither https nor on this machine")
	}
	require.Equal(t, 2, program(t, "login").code)
}

func TestAnAuditRowIsOneLineWhateverACallerChose(t *testing.T) {
	var out strings.Builder
	read := func(_ context.Context, q audit.Query) ([]audit.Entry, error) {
		if q.After != "" {
			return nil, nil
		}
		return []audit.Entry{{Kind: "agent", Caller: "a1", Action: "claim", Result: "ok", RequestID: "x\nperson:ops\tdecide\x1b[31m"}}, nil
	}
	require.NoError(t, printAudit(t.Context(), &out, audit.Query{}, read, false))
	require.Equal(t, 2, strings.Count(out.String(), "\n"))
	require.NotContains(t, out.String(), "\x1b")
}
