package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/httpapi"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/bearer"
	"github.com/agentprocess-temporal/server/internal/stack"
	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/operations"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// result is what one run of the program left behind.
type result struct {
	code           int
	stdout, stderr string
}

// program runs the program as a shell would, in this process.
func program(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := execute(t.Context(), args, &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

const refund = `---
name: refund
description: Pay a customer back, with somebody's consent.
requires: { systems: [billing, mail] }
steps:
  - id: prepare
    agent: Work out what is owed.
    output: { amount: number }
  - id: consent
    approve: The amount is right.
    person: payer
  - id: paid
    finish: paid
---
Keep the receipt.
`

// tiny is a process without roles.
func tiny(name string) string {
	return "---\nname: " + name + "\ndescription: Do one thing.\nsteps:\n  - { id: work, agent: Do it. }\n  - { id: done, finish: done }\n---\n"
}

// write puts a file into a folder, and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// folder makes the folder of a process, and returns its path.
func folder(t *testing.T, name, text string) string {
	t.Helper()
	return filepath.Dir(write(t, t.TempDir(), filepath.Join(name, processFile), text))
}

const people = `
organization: acme
agents: [a1]
people:
  - { email: mira@example.com, groups: [finance, board] }
  - { email: pia@example.com, publisher: true }
  - { email: ops@example.com, operator: true }
`

// testStack serves the API from a database of its own, and writes a dev.json for
// it. There is no Temporal.
type testStack struct {
	dir  string
	info stack.Info
	hits *[]string // method and path of every request
}

func startStack(t *testing.T) *testStack {
	t.Helper()
	t.Setenv(serverVariable, "")
	t.Setenv(tokenVariable, "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // where sign-ins are kept
	directory, err := identity.ParseDirectory([]byte(people))
	require.NoError(t, err)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	issuer := identity.NewIssuer(private, stack.Issuer, stack.Audience)
	s := &testStack{dir: t.TempDir(), info: stack.Info{Tokens: map[string]string{}}, hits: &[]string{}}
	for _, id := range directory.Identities() {
		caller, ok := directory.Caller(id)
		require.True(t, ok)
		s.info.Tokens[id], err = issuer.Issue(caller, time.Hour)
		require.NoError(t, err)
	}
	service := &operations.Service{Pool: testenv.Pool(t), People: identity.PeopleOf(directory), Log: slog.New(slog.DiscardHandler)}
	api := bearer.Middleware(identity.NewVerifier(stack.Issuer, stack.Audience, public), httpapi.New(service))
	mux := http.NewServeMux()
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		*s.hits = append(*s.hits, r.Method+" "+r.URL.Path)
		api.ServeHTTP(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.info.API = server.URL + "/api"
	s.write(t)
	return s
}

func (s *testStack) write(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(s.info)
	require.NoError(t, err)
	write(t, s.dir, stack.InfoFile, string(text))
}

// server is the address of the server, without the API's path.
func (s *testStack) server() string { return strings.TrimSuffix(s.info.API, "/api") }
