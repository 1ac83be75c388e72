package servertest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/schemas"
)

// Upstream is the folder of the protocol's own data files, beside the checkout;
// empty where it is not there. Tests that need it skip then.
var Upstream = sync.OnceValue(func() string {
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Join(filepath.Dir(file), "..", "..", "..", "shared", "upstream")
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
})

// upstreamResults are the protocol's own result schemas by tool, empty where
// they are not there.
var upstreamResults = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	compiled := map[string]*jsonschema.Schema{}
	if Upstream() == "" {
		return compiled, nil
	}
	c := jsonschema.NewCompiler()
	for _, tool := range schemas.Tools() {
		path := filepath.Join(Upstream(), "schemas", "core-2", "tools", tool+".result.json")
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		if err := c.AddResource(path, doc); err != nil {
			return nil, err
		}
		if compiled[tool], err = c.Compile(path); err != nil {
			return nil, err
		}
	}
	return compiled, nil
})

// checkResult holds a result against our schemas and, where they are there, the
// protocol's own. Every call of every test goes through it.
func checkResult(t testing.TB, tool string, data json.RawMessage) {
	t.Helper()
	require.NoError(t, schemas.CheckResult(tool, data), "%s: %s", tool, data)
	upstream, err := upstreamResults()
	require.NoError(t, err)
	if upstream[tool] == nil {
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	require.NoError(t, upstream[tool].Validate(value), "%s: %s", tool, data)
}
