package interop_test

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
)

const conformanceCLI = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

// Why a scenario of the suite does not apply: what it finds missing. They are
// parts of what the suite then says, and so the reason is checked too.
const (
	passes     = ""
	noTool     = `unknown tool "test_`                       // the tools here are those of the protocol
	noSchema   = `Tool 'json_schema_2020_12_tool' not found` // likewise
	noResource = `Resource not found`                        // there are no resources
	noPrompt   = `unknown prompt "test_`                     // there are no prompts
	noWatching = `method not found: "resources/subscribe"`   // nothing to subscribe to
	noComplete = `method not found: "completion/complete"`   // neither prompts nor templates to complete
	noStream   = `Server did not provide session ID`         // stateless: answers are plain JSON, not event streams
)

// scenarios are all that the suite has for servers. A new one, one that fails
// otherwise than told here and one that begins to pass all fail the test.
var scenarios = map[string]string{
	"dns-rebinding-protection": passes,
	"logging-set-level":        passes,
	"ping":                     passes,
	"prompts-list":             passes,
	"resources-list":           passes,
	"server-initialize":        passes,
	"tools-list":               passes,

	"completion-complete":           noComplete,
	"elicitation-sep1034-defaults":  noTool,
	"elicitation-sep1330-enums":     noTool,
	"json-schema-2020-12":           noSchema,
	"prompts-get-embedded-resource": noPrompt,
	"prompts-get-simple":            noPrompt,
	"prompts-get-with-args":         noPrompt,
	"prompts-get-with-image":        noPrompt,
	"resources-read-binary":         noResource,
	"resources-read-text":           noResource,
	"resources-subscribe":           noWatching,
	"resources-templates-read":      noResource,
	"resources-unsubscribe":         noWatching,
	"server-sse-multiple-streams":   noStream,
	"server-sse-polling":            noStream,
	"tools-call-audio":              noTool,
	"tools-call-elicitation":        noTool,
	"tools-call-embedded-resource":  noTool,
	"tools-call-error":              noTool,
	"tools-call-image":              noTool,
	"tools-call-mixed-content":      noTool,
	"tools-call-sampling":           noTool,
	"tools-call-simple-text":        noTool,
	"tools-call-with-logging":       noTool,
	"tools-call-with-progress":      noTool,
}

func TestTheMCPConformanceSuitePassesWhereItApplies(t *testing.T) {
	requirePackages(t)
	s := start(t)
	results := t.TempDir()
	// Its exit code is 1 for each failure, expected or not.
	got := node(t, nil, conformanceCLI, "server", "--url", signedIn(t, s)+"/mcp", "--suite", "all", "--output-dir", results)
	all := readChecks(t, results)
	require.Equal(t, slices.Sorted(maps.Keys(scenarios)), slices.Sorted(maps.Keys(all)), "%s%s", got.stdout, got.stderr)
	for name, missing := range scenarios {
		t.Run(name, func(t *testing.T) {
			if missing == passes {
				require.NotEmpty(t, all[name])
				for _, c := range all[name] {
					require.Equal(t, "SUCCESS", c.Status, "%+v", c)
				}
				return
			}
			require.True(t, slices.ContainsFunc(all[name], func(c check) bool { return strings.Contains(c.says(), missing) }), "%+v", all[name])
			require.False(t, slices.ContainsFunc(all[name], func(c check) bool { return c.Status == "SUCCESS" }), "%+v", all[name])
		})
	}
}

// check is a thing that a scenario looked at.
type check struct {
	ID, Status, ErrorMessage string
	Details                  struct{ Message string }
}

func (c check) says() string { return c.ErrorMessage + c.Details.Message }

// folder is the name of a scenario's results, with the time behind it.
var folder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

func readChecks(t *testing.T, dir string) map[string][]check {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := map[string][]check{}
	for _, entry := range entries {
		name := folder.FindStringSubmatch(entry.Name())
		require.NotNil(t, name, entry.Name())
		text, err := os.ReadFile(filepath.Join(dir, entry.Name(), "checks.json"))
		require.NoError(t, err)
		var checks []check
		require.NoError(t, json.Unmarshal(text, &checks), "%s", text)
		all[name[1]] = checks
	}
	return all
}

// signedIn is the URL of a proxy that adds a credential, which the suite cannot
// send, and changes nothing else: Host and Origin reach the server as they were
// sent.
func signedIn(t *testing.T, s *Server) string {
	t.Helper()
	target, err := url.Parse(s.URL)
	require.NoError(t, err)
	token := s.Token(A1)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL
}
