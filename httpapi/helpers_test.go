package httpapi_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/httpapi"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/bearer"
	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/run"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const directory = `
organization: acme
agents: [a1]
people:
  - { email: mira@example.com, groups: [finance] }
  - { email: pia@example.com, publisher: true }
  - { email: ops@example.com, operator: true, publisher: true }
`

// api is the API over real operations and a database of its own. There is no
// Temporal behind it.
type api struct {
	*httptest.Server
	pool   *pgxpool.Pool
	tokens map[string]string
}

func serve(t *testing.T) *api {
	t.Helper()
	d, err := identity.ParseDirectory([]byte(directory))
	require.NoError(t, err)
	pool := testenv.Pool(t)
	return serveOps(t, &operations.Service{Pool: pool, People: identity.PeopleOf(d), Log: slog.New(slog.DiscardHandler)}, d, pool)
}

func serveOps(t *testing.T, ops httpapi.Operations, d *identity.Directory, pool *pgxpool.Pool) *api {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	issuer := identity.NewIssuer(private, "https://issuer.example.com", "https://process.example.com")
	verifier := identity.NewVerifier("https://issuer.example.com", "https://process.example.com", public)
	a := &api{pool: pool, tokens: map[string]string{}}
	for _, id := range d.Identities() {
		c, ok := d.Caller(id)
		require.True(t, ok)
		a.tokens[id], err = issuer.Issue(c, time.Hour)
		require.NoError(t, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/api/", bearer.Middleware(verifier, httpapi.New(ops)))
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

// reply is an answer, with its envelope read.
type reply struct {
	status int
	header http.Header
	text   string
	OK     *bool           `json:"ok"`
	Data   json.RawMessage `json:"data"`
	Error  *run.Error      `json:"error"`
}

func (a *api) do(t *testing.T, as, method, path, body string) reply {
	t.Helper()
	return a.send(t, as, method, path, strings.NewReader(body))
}

func (a *api) send(t *testing.T, as, method, path string, body io.Reader) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, a.URL+path, body)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+a.tokens[as])
	res, err := a.Client().Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	r := reply{status: res.StatusCode, header: res.Header, text: string(text)}
	if method != http.MethodHead {
		require.Equal(t, "application/json", res.Header.Get("Content-Type"), r.text)
		require.NoError(t, json.Unmarshal(text, &r), r.text)
	}
	return r
}

func (r reply) data(t *testing.T, into any) {
	t.Helper()
	require.NotNil(t, r.OK, r.text)
	require.True(t, *r.OK, r.text)
	require.Nil(t, r.Error, r.text)
	require.NoError(t, json.Unmarshal(r.Data, into))
}

// refused checks a refusal and returns its issues.
func (r reply) refused(t *testing.T, status int, code run.Code) []string {
	t.Helper()
	require.Equal(t, status, r.status, r.text)
	require.NotNil(t, r.OK, r.text)
	require.False(t, *r.OK)
	require.NotNil(t, r.Error, r.text)
	require.Equal(t, code, r.Error.Code, r.text)
	require.NotEmpty(t, r.Error.Message)
	require.Nil(t, r.Data)
	return r.Error.Issues
}

// refund is a process with one role, payer.
func refund(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("testdata/refund.md")
	require.NoError(t, err)
	return string(b)
}
