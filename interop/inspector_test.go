package interop_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/schemas"
)

const inspectorCLI = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"

// Exit codes of the Inspector.
const (
	isError    = 5 // the tool's result says isError
	unportable = 6 // --strict found a schema that some clients cannot use
)

func TestTheInspectorWorksAStep(t *testing.T) {
	requirePackages(t)
	s := start(t)
	for _, era := range []string{"legacy", "modern"} { // as it calls the protocol versions
		t.Run(era, func(t *testing.T) {
			i := inspector{t, s, era}
			require.ElementsMatch(t, schemas.Tools(), i.tools())

			runID := startRun(s)
			claim := map[string]string{"runId": runID, "stepId": "screen", "requestId": ID()}
			claimed := i.must("claim", claim)
			require.Contains(t, claimed.text, `"amount":`+exact.String())
			claim["requestId"] = ID()
			again := i.call(isError, "claim", pairs(claim)...)
			require.JSONEq(t, `["claimed_by_you"]`, string(again.Error.Issues))

			file := i.must("upload", map[string]string{
				"fileName": "report.txt", "contentType": "text/plain",
				"contentBase64": base64.StdEncoding.EncodeToString([]byte("no hit")), "requestId": ID(),
			})
			submission, err := json.Marshal(Args{
				"token": claimed.Data.Token, "output": Args{"cleared": true, "score": 0.5}, "summary": "No hit.",
				"evidence": []Args{{"kind": "file", "ref": file.Data.ID}}, "requestId": ID(),
			})
			require.NoError(t, err)
			i.call(0, "submit", "--tool-args-json", string(submission))
			requireScreened(t, s, runID)
		})
	}
}

type inspector struct {
	t   *testing.T
	s   *Server
	era string
}

// told is what the Inspector prints of a call, with the members that are needed.
type told struct {
	Data  struct{ ID, Token string }
	Error struct{ Issues json.RawMessage }
	text  string
}

// run runs one method, which must exit with a code, and reads its result.
func (i inspector) run(code int, into any, args ...string) {
	i.t.Helper()
	got := node(i.t, nil, append([]string{
		inspectorCLI, "--cli", i.s.URL + "/mcp", "--transport", "http", "--protocol-era", i.era,
		"--format", "json", "--header", "Authorization: Bearer " + i.s.Token(A1), "--method",
	}, args...)...)
	require.Equal(i.t, code, got.code, "%s%s", got.stdout, got.stderr)
	var answer struct{ Result json.RawMessage }
	require.NoError(i.t, json.Unmarshal(got.stdout, &answer), "%s", got.stdout)
	require.NoError(i.t, json.Unmarshal(answer.Result, into), "%s", got.stdout)
}

// tools lists the names of the tools, and has their schemas looked at.
func (i inspector) tools() (names []string) {
	i.t.Helper()
	var list struct{ Tools []struct{ Name string } }
	i.run(0, &list, "tools/list", "--strict") // else unportable
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func (i inspector) call(code int, tool string, args ...string) (told told) {
	i.t.Helper()
	var result struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
	}
	i.run(code, &result, append([]string{"tools/call", "--tool-name", tool}, args...)...)
	require.Len(i.t, result.Content, 1)
	require.NoError(i.t, json.Unmarshal(result.StructuredContent, &told))
	told.text = result.Content[0].Text
	return told
}

// must calls a tool whose arguments are strings, which must succeed.
func (i inspector) must(tool string, args map[string]string) told {
	i.t.Helper()
	return i.call(0, tool, pairs(args)...)
}

// pairs are arguments as one types them.
func pairs(args map[string]string) (flags []string) {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		flags = append(flags, "--tool-arg", name+"="+args[name])
	}
	return flags
}
