package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const conformanceConfig = `agents: { one: { token: a }, two: { token: b } }
people:
  member: { token: c, person: c@example.com }
  colleague: { token: d, person: d@example.com }
  outsider: { token: e, person: e@example.com }
  operator: { token: f, person: f@example.com }
group: g
published: true
`

// judge runs the command against a URL, and returns its code and error output.
func judge(t *testing.T, config string, args ...string) (code int, stderr string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "conformance.yaml")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	code = -1
	exit = func(c int) { code = c }
	t.Cleanup(func() { exit = os.Exit })
	result := program(t, append([]string{"conformance", "--config", path}, args...)...)
	if code == -1 {
		code = result.code
	}
	return code, result.stderr
}

func TestConformanceSaysInOneLineWhyThereIsNothingToJudge(t *testing.T) {
	silent := httptest.NewServer(nil)
	silent.Close()
	website := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>\nhello")) }))
	t.Cleanup(website.Close)
	strict := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(strict.Close)
	speaks := httptest.NewServer(otherMCP(`{"tools":[{"name":"weather","inputSchema":{"type":"object"}}]}`))
	t.Cleanup(speaks.Close)
	endless := httptest.NewServer(otherMCP(`{"tools":[],"nextCursor":"again"}`))
	t.Cleanup(endless.Close)
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(hangs.Close)
	for name, c := range map[string]struct{ url, want string }{
		"a server that never answers":         {hangs.URL, "does not answer within 20s"},
		"a list of tools without an end":      {endless.URL, "does not list its tools"},
		"nothing listens":                     {silent.URL, "nothing answers at"},
		"a website":                           {website.URL, "does not speak MCP"},
		"a token that is not accepted":        {strict.URL, "does not accept the token of agents.one"},
		"MCP that is not Agent Process":       {speaks.URL, "is no Agent Process server: it has no tool describe"},
		"an address that is none":             {"::", "nothing answers at"},
		"another path of a server that is up": {website.URL + "/mcp", "does not speak MCP"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stderr := judge(t, conformanceConfig, "--url", c.url)
			require.Equal(t, codeNoVerdict, code)
			require.Contains(t, stderr, c.want)
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		})
	}
}

func TestConformanceSaysEverythingThatAConfigurationLacks(t *testing.T) {
	code, stderr := judge(t, "agents: { one: { token: a } }\n", "--url", "http://localhost:1")
	require.Equal(t, codeNoVerdict, code)
	for _, want := range []string{"agents.two.token is missing", "people.member.person is missing", "group is missing", "say published: true, or how to publish"} {
		require.Contains(t, stderr, want)
	}
}

func TestConformanceNamesWhatItDoesNotKnow(t *testing.T) {
	code, stderr := judge(t, conformanceConfig+"grupp: h\npeple: {}\n", "--url", "http://localhost:1")
	require.Equal(t, codeNoVerdict, code)
	require.Contains(t, stderr, `conformance.yaml: line 9: unknown key "grupp"; line 10: unknown key "peple"`)
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)

	code, stderr = judge(t, conformanceConfig, "--url", "http://localhost:1", "--only", "tools decide", "--only", "spec 3.4")
	require.Equal(t, codeNoVerdict, code)
	require.Contains(t, stderr, `"spec 3.4" is neither the id of a check nor a clause`)
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
}

// otherMCP is a server that speaks MCP and lists these tools, as JSON.
func otherMCP(tools string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			ID     json.RawMessage
			Method string
		}
		if json.NewDecoder(r.Body).Decode(&message) != nil || message.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"other","version":"1"}}`
		if message.Method == "tools/list" {
			result = tools
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, message.ID, result)
	}
}
