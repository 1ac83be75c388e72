package schemas_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/agentprocess-temporal/server/schemas"
)

// narrower lists where our arguments take less than the public schemas do, and
// why. Nowhere do they take more.
var narrower = map[string]string{
	"send_event.name": "an event's name matches the step id pattern (spec §3.6), which the public schema does not say",
}

func TestOurArgumentsAreThePublicOnes(t *testing.T) {
	public := upstreamSchemas(t)
	cases := 0
	for tool, valid := range samples(t, "arguments") {
		ours, theirs := ours(t, "tools/"+tool+".arguments.json"), public("tools/"+tool+".arguments.json")
		for _, sample := range valid {
			original := decode(t, sample)
			require.NoError(t, theirs.Validate(original), "%s %s", tool, sample)
			for _, m := range mutations(original) {
				cases++
				accepted, publicly := ours.Validate(m) == nil, theirs.Validate(m) == nil
				if publicly && !accepted && excepted(t, tool, original, m) {
					continue
				}
				require.Equal(t, publicly, accepted, "%s %s", tool, encode(t, m))
			}
		}
	}
	require.Greater(t, cases, 3000)
}

// excepted reports whether the one argument that changed is a listed exception.
func excepted(t *testing.T, tool string, original, mutated any) bool {
	before, after := original.(map[string]any), mutated.(map[string]any)
	for name, value := range after {
		if !bytes.Equal(encode(t, value), encode(t, before[name])) {
			_, listed := narrower[tool+"."+name]
			return listed
		}
	}
	return false
}

func TestOurResultsAreValidByThePublicSchemasToo(t *testing.T) {
	public := upstreamSchemas(t)
	for tool, valid := range samples(t, "results") {
		name := "tools/" + tool + ".result.json"
		ours, theirs := ours(t, name), public(name)
		for _, sample := range valid {
			original := decode(t, sample)
			require.NoError(t, theirs.Validate(original), "%s %s", tool, sample)
			if tool != "get_run" && ours.Ref != nil {
				continue // the run view again
			}
			refused := 0
			for _, m := range mutations(original) {
				if ours.Validate(m) != nil {
					refused++
					continue
				}
				require.NoError(t, theirs.Validate(m), "%s %s", tool, encode(t, m))
			}
			require.Greater(t, refused, 40, tool)
		}
	}
}

func TestSharedShapesAreValidByThePublicSchemasToo(t *testing.T) {
	public := upstreamSchemas(t)
	for name, samples := range map[string][]string{
		"tool-error.json":    {`{"code":"stale","message":"Read again.","issues":["x"]}`},
		"evidence-item.json": {`{"kind":"file","ref":"f_1"}`},
	} {
		ours, theirs := ours(t, name), public(name)
		for _, sample := range samples {
			for _, m := range mutations(decode(t, []byte(sample))) {
				require.Equal(t, theirs.Validate(m) == nil, ours.Validate(m) == nil, "%s %s", name, encode(t, m))
			}
		}
	}
}

func TestAProcessDocument(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "process-document.json"))
	require.NoError(t, err)
	schema := ours(t, "process-document.json")
	original := decode(t, raw)
	require.NoError(t, schema.Validate(original))

	change := func(key string, value any) any {
		doc := decode(t, raw).(map[string]any)
		doc[key] = value
		return doc
	}
	step := func(text string) any { return change("steps", []any{decode(t, []byte(text))}) }
	for name, doc := range map[string]any{
		"data_sources are unknown":          change("data_sources", []any{map[string]any{"key": "crm", "operations": []any{"read"}}}),
		"emails are unknown":                change("emails", map[string]any{"templates": []any{"welcome"}}),
		"files are unknown":                 change("files", true),
		"no steps":                          change("steps", []any{}),
		"a name with capitals":              change("name", "Laptop"),
		"an input of no type":               change("inputs", map[string]any{"a": "text"}),
		"a step without a kind":             step(`{"id":"a"}`),
		"a step of two kinds":               step(`{"id":"a","agent":"x","finish":"y"}`),
		"a task for nobody":                 step(`{"id":"a","task":"x"}`),
		"a key of no step":                  step(`{"id":"a","agent":"x","retries":3}`),
		"an id with capitals":               step(`{"id":"A","agent":"x"}`),
		"a duration in weeks":               step(`{"id":"a","wait":"2w"}`),
		"one way to choose from":            step(`{"id":"a","agent":"x","next":["b"]}`),
		"an advisory step without a check":  step(`{"id":"a","agent":"x","advisory":true}`),
		"a parallel step with one branch":   step(`{"id":"a","parallel":["b"]}`),
		"a question with an unknown key":    step(`{"id":"a","agent":"x","check":[{"ask":"x","why":"y"}]}`),
		"an output field with unknown keys": step(`{"id":"a","agent":"x","output":{"f":{"type":"string","max":3}}}`),
	} {
		require.Error(t, schema.Validate(doc), name)
	}

	t.Run("what ours accepts the public schema accepts", func(t *testing.T) {
		theirs := upstreamSchemas(t)("process-document.json")
		require.NoError(t, theirs.Validate(original))
		for _, m := range mutations(original) {
			if schema.Validate(m) == nil {
				require.NoError(t, theirs.Validate(m), "%s", encode(t, m))
			}
		}
	})
	t.Run("ours accepts the public fixtures", func(t *testing.T) {
		fixtures := os.DirFS(filepath.Join(upstream(t), "conformance", "fixtures"))
		files, err := fs.Glob(fixtures, "*/PROCESS.md")
		require.NoError(t, err)
		require.Len(t, files, 12)
		for _, file := range files {
			text, err := fs.ReadFile(fixtures, file)
			require.NoError(t, err)
			var frontmatter any
			require.NoError(t, yaml.Unmarshal(bytes.SplitN(text, []byte("\n---"), 2)[0], &frontmatter), file)
			raw, err := json.Marshal(frontmatter)
			require.NoError(t, err, file)
			require.NoError(t, schema.Validate(decode(t, raw)), file)
		}
	})
}

func TestTheIndexNamesThePublicShapesToo(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(upstream(t), "schemas", "core-2", "index.json"))
	require.NoError(t, err)
	own, err := fs.ReadFile(schemas.FS(), "index.json")
	require.NoError(t, err)
	var theirs, ours struct {
		Shared map[string]string
		Tools  map[string]any
	}
	require.NoError(t, json.Unmarshal(raw, &theirs))
	require.NoError(t, json.Unmarshal(own, &ours))
	require.Equal(t, theirs.Tools, ours.Tools)
	for name, file := range theirs.Shared {
		require.Equal(t, file, ours.Shared[name])
	}
}
