package schemas_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/schemas"
)

// samples are valid arguments or results of every tool.
func samples(t testing.TB, name string) map[string][]json.RawMessage {
	raw, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	var all map[string][]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &all))
	if name == "results" {
		for _, tool := range []string{"start_run", "submit", "escalate", "decide", "cancel"} {
			all[tool] = all["get_run"] // they all return the run view
		}
	}
	for _, tool := range schemas.Tools() {
		require.NotEmpty(t, all[tool], "%s of %s", name, tool)
	}
	return all
}

func decode(t testing.TB, raw []byte) any {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	return v
}

func encode(t testing.TB, v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	return bytes.TrimSpace(b.Bytes())
}

// variants are what a mutation puts in the place of a value.
func variants() []any {
	n := func(s string) any { return json.Number(s) }
	return []any{
		nil, true, false, "", " ", "x", "test", "live", "ended", "2026-11-02T08:00:00Z", "2026-11-02",
		n("0"), n("1"), n("-1"), n("20.0"), n("2e1"), n("1.5"), n("100"), n("101"), n("9007199254740991"), n("9007199254740992"),
		[]any{}, []any{nil}, []any{"x"}, []any{"link"}, []any{map[string]any{}}, map[string]any{}, map[string]any{"x": "string"},
		strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("é", 128), strings.Repeat("é", 129),
		strings.Repeat("\U0001F600", 255), strings.Repeat("\U0001F600", 256), strings.Repeat("a", 160), strings.Repeat("a", 161),
		strings.Repeat("\U0001F600", 2000), strings.Repeat("\U0001F600", 2001), strings.Repeat("é", 4000), strings.Repeat("é", 4001),
	}
}

// mutations are copies of a value with one change somewhere in it: a value
// replaced, a member taken out or put in, an element doubled.
func mutations(v any) []any {
	all := variants()
	switch v := v.(type) {
	case map[string]any:
		extra := maps.Clone(v)
		extra["unheard_of"] = "x"
		all = append(all, extra)
		for key, member := range v {
			without := maps.Clone(v)
			delete(without, key)
			all = append(all, without)
			for _, m := range mutations(member) {
				changed := maps.Clone(v)
				changed[key] = m
				all = append(all, changed)
			}
		}
	case []any:
		if len(v) > 0 {
			all = append(all, append(v[:len(v):len(v)], v[0]))
		}
		for i, element := range v {
			for _, m := range mutations(element) {
				changed := append([]any{}, v...)
				changed[i] = m
				all = append(all, changed)
			}
		}
	}
	return all
}

const upstreamBase = "https://agentprocess.io/schemas/core-2/"

// upstream is where the public test data lies, or the test is skipped.
func upstream(t *testing.T) string {
	dir := filepath.Join("..", "..", "shared", "upstream")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the public schemas and fixtures are not beside the checkout: ", err)
	}
	return dir
}

// upstreamSchemas compiles the public schemas.
func upstreamSchemas(t *testing.T) func(name string) *jsonschema.Schema {
	root := os.DirFS(filepath.Join(upstream(t), "schemas", "core-2"))
	c := jsonschema.NewCompiler()
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "index.json" {
			return err
		}
		raw, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return c.AddResource(upstreamBase+name, decode(t, raw))
	}))
	return func(name string) *jsonschema.Schema {
		s, err := c.Compile(upstreamBase + name)
		require.NoError(t, err)
		return s
	}
}

// ours compiles our own schemas, or documents made of them, by URL.
func ours(t testing.TB, name string) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, fs.WalkDir(schemas.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "index.json" {
			return err
		}
		raw, err := fs.ReadFile(schemas.FS(), name)
		if err != nil {
			return err
		}
		return c.AddResource(schemas.Base+name, decode(t, raw))
	}))
	s, err := c.Compile(schemas.Base + name)
	require.NoError(t, err)
	return s
}

// standalone compiles one schema with nothing else at hand.
func standalone(t testing.TB, raw json.RawMessage) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("urn:alone", decode(t, raw)))
	s, err := c.Compile("urn:alone")
	require.NoError(t, err)
	return s
}
