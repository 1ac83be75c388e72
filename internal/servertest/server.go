package servertest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"github.com/agentprocess-temporal/server/devstack"
	"github.com/agentprocess-temporal/server/examples"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/idptest"
	"github.com/agentprocess-temporal/server/identity/trust"
	"github.com/agentprocess-temporal/server/internal/keyring"
	"github.com/agentprocess-temporal/server/internal/mcpclient"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/internal/server"
	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/notify"
	"github.com/agentprocess-temporal/server/run"
)

// Identities of the directory that tests use; see examples/directory.yaml.
const (
	A1   = "agent:a1"
	A2   = "agent:a2"
	Mira = "person:mira@example.com" // finance
	Omar = "person:omar@example.com" // finance, ops
	Lena = "person:lena@example.com" // no group
	Boss = "person:ops@example.com"  // operator and publisher
)

// What tokens are for, and the client whose tokens are people.
const (
	Resource    = "https://process.test/mcp"
	HumanClient = "web"
)

const trustedIssuer = `
resource: https://process.test/mcp
people: { from: claims, persons: strict, groups: listed }
issuers:
  - issuer: ISSUER
    organization: { claim: org }
    human_clients: [web]
    operators: { scopes: [operate] }
    publishers: { scopes: [publish] }
`

// Server is a running server and what a test needs of it.
type Server struct {
	URL string
	// MetricsURL is where metrics are, if the options have an address for them.
	MetricsURL string
	Temporal   testenv.Target
	DSN        string
	Options    server.Options
	Directory  *identity.Directory
	// Notifications are the lines that the log channel wrote.
	Notifications *Lines

	t     testing.TB
	idp   *idptest.Provider
	key   idptest.Key
	stop  func()
	mu    sync.Mutex
	calls map[string]*mcpclient.Client
}

// Setup registers the search attributes of a new namespace.
func Setup(ctx context.Context, address, namespace string) error {
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: namespace, Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = server.SetupSearchAttributes(ctx, c, namespace)
	return err
}

// Start runs a server of its own namespace and database until the test ends.
// Each adjust may change its options first.
func Start(t testing.TB, adjust ...func(*server.Options)) *Server {
	t.Helper()
	target := testenv.Temporal(t, Setup)
	return start(t, target, testenv.Postgres(t), adjust...)
}

func start(t testing.TB, target testenv.Target, dsn string, adjust ...func(*server.Options)) *Server {
	t.Helper()
	directory, err := identity.ParseDirectory(examples.Directory)
	require.NoError(t, err)
	ring, err := keyring.New("k1", map[string][]byte{"k1": random(t, 32)})
	require.NoError(t, err)
	s := &Server{
		Temporal: target, DSN: dsn, Directory: directory, Notifications: &Lines{}, t: t,
		idp: idptest.Start(t), key: idptest.NewKey(t, "k1", jose.ES256), calls: map[string]*mcpclient.Client{},
	}
	s.idp.Show(s.key)
	trusted, err := trust.ParseConfig([]byte(strings.ReplaceAll(trustedIssuer, "ISSUER", s.idp.URL)))
	require.NoError(t, err)
	s.Options = server.Options{
		Addr: "127.0.0.1:0", Postgres: dsn,
		Temporal:  client.Options{HostPort: target.Address, Namespace: target.Namespace},
		Directory: directory, Trust: trusted,
		Keys: ring, Secret: random(t, 32), Channel: notify.NewLog(s.Notifications),
		Log: slog.New(slog.NewTextHandler(logTo(t), &slog.HandlerOptions{Level: slog.LevelWarn})), Version: "test",
	}
	for _, f := range adjust {
		f(&s.Options)
	}
	s.Run()
	t.Cleanup(s.Stop)
	return s
}

// Run starts the server, again after Stop.
func (s *Server) Run() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	srv, err := server.New(ctx, s.Options)
	require.NoError(s.t, err)
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("server: %v", err)
		}
	})
	s.URL, s.MetricsURL = srv.URL, srv.MetricsURL
	s.Options.Addr = strings.TrimPrefix(srv.URL, "http://")
	wait, cancelWait := context.WithTimeout(ctx, time.Minute)
	defer cancelWait()
	require.NoError(s.t, devstack.WaitReady(wait, s.URL+"/readyz", nil))
}

// Stop stops the server gracefully.
func (s *Server) Stop() {
	s.mu.Lock()
	for id, c := range s.calls {
		_ = c.Close()
		delete(s.calls, id)
	}
	s.mu.Unlock()
	s.stop()
}

// Token is a bearer token of an identity of the directory.
func (s *Server) Token(id string) string {
	s.t.Helper()
	caller, ok := s.Directory.Caller(id)
	require.True(s.t, ok, "no identity %s", id)
	return s.TokenOf(caller)
}

// TokenOf is a bearer token of any caller.
func (s *Server) TokenOf(caller identity.Caller) string {
	s.t.Helper()
	c := idptest.Claims{"org": caller.Org, "azp": caller.Subject, "sub": caller.Subject}
	if caller.IsPerson() {
		var scopes []string
		if caller.Operator {
			scopes = append(scopes, "operate")
		}
		if caller.Publisher {
			scopes = append(scopes, "publish")
		}
		c = idptest.Claims{
			"org": caller.Org, "azp": HumanClient, "sub": "u:" + caller.Subject, "email": caller.Subject,
			"groups": caller.Groups, "scope": strings.Join(scopes, " "),
		}
	}
	return s.TokenWith(c)
}

// TokenWith is a bearer token for the server with any claims; those of a change
// to nil are left out. See idptest.Provider.Claims.
func (s *Server) TokenWith(changes idptest.Claims) string {
	s.t.Helper()
	return s.idp.Sign(s.key, s.idp.Claims(time.Now(), Resource, changes))
}

// Call calls a tool over MCP as an identity of the directory.
func (s *Server) Call(id, tool string, args any) mcpclient.Result {
	s.t.Helper()
	result, err := s.Client(id).Call(context.Background(), tool, args)
	require.NoError(s.t, err, "%s as %s", tool, id)
	if result.OK {
		checkResult(s.t, tool, result.Data)
	}
	return result
}

// Client is an MCP client signed in as an identity of the directory.
func (s *Server) Client(id string) *mcpclient.Client {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[id]; c != nil {
		return c
	}
	c, err := mcpclient.Dial(context.Background(), s.URL+"/mcp", s.Token(id))
	require.NoError(s.t, err)
	s.calls[id] = c
	return c
}

// Must calls a tool that must succeed, and reads its data into a T.
func Must[T any](s *Server, id, tool string, args any) T {
	s.t.Helper()
	result := s.Call(id, tool, args)
	require.True(s.t, result.OK, "%s as %s: %v", tool, id, result.Error)
	var out T
	require.NoError(s.t, json.Unmarshal(result.Data, &out))
	return out
}

// Refused calls a tool that must be refused with a code.
func (s *Server) Refused(code run.Code, id, tool string, args any) *run.Error {
	s.t.Helper()
	result := s.Call(id, tool, args)
	require.False(s.t, result.OK, "%s as %s: %s", tool, id, result.Data)
	require.Equal(s.t, code, result.Error.Code, "%s as %s: %v", tool, id, result.Error)
	return result.Error
}

// Publish imports, binds and publishes a PROCESS.md over HTTP.
func (s *Server) Publish(source string, roles map[string]string) {
	s.t.Helper()
	var draft struct{ Data struct{ Name string } }
	s.api(http.MethodPost, "/api/processes", source, &draft)
	if len(roles) > 0 {
		body, err := json.Marshal(roles)
		require.NoError(s.t, err)
		s.api(http.MethodPut, "/api/processes/"+draft.Data.Name+"/roles", string(body), nil)
	}
	s.api(http.MethodPost, "/api/processes/"+draft.Data.Name+"/publish", "", nil)
}

func (s *Server) api(method, path, body string, into any) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, s.URL+path, strings.NewReader(body))
	require.NoError(s.t, err)
	req.Header.Set("Authorization", "Bearer "+s.Token(Boss))
	res, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer func() { _ = res.Body.Close() }()
	answer, err := readAll(res)
	require.NoError(s.t, err)
	require.Less(s.t, res.StatusCode, 300, "%s %s: %s", method, path, answer)
	if into != nil {
		require.NoError(s.t, json.Unmarshal(answer, into))
	}
}

// Pool is a pool of the server's database.
func (s *Server) Pool() *pgxpool.Pool {
	s.t.Helper()
	pool, err := postgres.Open(context.Background(), s.DSN)
	require.NoError(s.t, err)
	s.t.Cleanup(pool.Close)
	return pool
}

// ID is a fresh requestId.
func ID() string { return uuid.NewString() }

// Args are the arguments of a call.
type Args = map[string]any

func logTo(t testing.TB) *os.File {
	if testing.Verbose() {
		return os.Stderr
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = null.Close() })
	return null
}
