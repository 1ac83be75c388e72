package schemas_test

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/schemas"
)

func TestThereAreFourteenTools(t *testing.T) {
	require.Equal(t, strings.Fields(`describe list_processes start_run get_run get_work claim renew upload
		submit escalate decide cancel send_event list_runs`), schemas.Tools())
	for _, tool := range schemas.Tools() {
		require.NotEmpty(t, schemas.Title(tool), tool)
		description := schemas.Description(tool)
		require.Greater(t, len(description), 100, tool)
		require.NotContains(t, description, "\n", "%s: one paragraph", tool)
	}
	require.Empty(t, schemas.Title("unheard_of"))
	require.Empty(t, schemas.Description("unheard_of"))
	require.Nil(t, schemas.InputSchema("unheard_of"))
	require.Nil(t, schemas.OutputSchema("unheard_of"))
}

func TestTheIndexListsEverySchema(t *testing.T) {
	raw, err := fs.ReadFile(schemas.FS(), "index.json")
	require.NoError(t, err)
	var index struct {
		Protocol, Version, Base string
		Shared                  map[string]string
		Tools                   map[string]struct{ Arguments, Result string }
	}
	require.NoError(t, json.Unmarshal(raw, &index))
	require.Equal(t, "agentprocess", index.Protocol)
	require.Equal(t, "core-2", index.Version)
	require.Equal(t, schemas.Base, index.Base)

	listed := map[string]bool{"index.json": true}
	for name, file := range index.Shared {
		require.Equal(t, name+".json", file)
		listed[file] = true
	}
	require.Len(t, index.Tools, len(schemas.Tools()))
	for _, tool := range schemas.Tools() {
		listed[index.Tools[tool].Arguments] = true
		listed[index.Tools[tool].Result] = true
	}
	found := map[string]bool{}
	require.NoError(t, fs.WalkDir(schemas.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found[name] = true
		}
		return err
	}))
	require.Equal(t, found, listed)
}

func TestEverySchemaSaysWhatItIs(t *testing.T) {
	each(t, func(name string, doc map[string]any) {
		require.Equal(t, schemas.Base+name, doc["$id"], name)
		require.Equal(t, "https://json-schema.org/draft/2020-12/schema", doc["$schema"], name)
		require.NotEmpty(t, doc["title"], name)
		require.NotEmpty(t, doc["description"], name)
		ours(t, name)
	})
}

func TestReferencesAreRelativeAndLeadSomewhere(t *testing.T) {
	each(t, func(name string, doc map[string]any) {
		walk(doc, func(node map[string]any) {
			ref, ok := node["$ref"].(string)
			if !ok || strings.HasPrefix(ref, "#") {
				return
			}
			require.NotContains(t, ref, ":", name)
			_, err := fs.Stat(schemas.FS(), path.Join(path.Dir(name), ref))
			require.NoError(t, err, name)
		})
	})
}

func TestEveryObjectOfAFixedShapeIsClosed(t *testing.T) {
	each(t, func(name string, doc map[string]any) {
		walk(doc, func(node map[string]any) {
			if node["properties"] != nil && node["type"] == "object" {
				require.Equal(t, false, node["additionalProperties"], name)
			}
		})
	})
}

func TestEveryArgumentSaysWhatToPutThere(t *testing.T) {
	for _, tool := range schemas.Tools() {
		var s struct {
			Type       string
			Properties map[string]struct{ Description string }
		}
		require.NoError(t, json.Unmarshal(schemas.InputSchema(tool), &s))
		require.Equal(t, "object", s.Type, tool)
		for name, p := range s.Properties {
			require.Greater(t, len(p.Description), 20, "%s of %s", name, tool)
		}
	}
}

func TestAnInputSchemaStandsAlone(t *testing.T) {
	valid := samples(t, "arguments")
	for _, tool := range schemas.Tools() {
		raw := schemas.InputSchema(tool)
		require.NotContains(t, string(raw), `"$ref"`, tool)
		require.NotContains(t, string(raw), `"$id"`, tool)
		alone, filed := standalone(t, raw), ours(t, "tools/"+tool+".arguments.json")
		for _, sample := range valid[tool] {
			for _, m := range append(mutations(decode(t, sample)), decode(t, sample)) {
				require.Equal(t, filed.Validate(m) == nil, alone.Validate(m) == nil, "%s %s", tool, encode(t, m))
			}
		}
	}
}

func TestAnOutputSchemaStandsAloneAndDescribesTheWholeResult(t *testing.T) {
	inDocument := regexp.MustCompile(`"\$ref":"([^"]*)"`)
	valid := samples(t, "results")
	for _, tool := range schemas.Tools() {
		raw := schemas.OutputSchema(tool)
		for _, ref := range inDocument.FindAllStringSubmatch(string(raw), -1) {
			require.True(t, strings.HasPrefix(ref[1], "#/$defs/"), "%s: %s", tool, ref[1])
		}
		require.Equal(t, "object", decode(t, raw).(map[string]any)["type"], tool)
		s := standalone(t, raw)
		for _, data := range valid[tool] {
			require.NoError(t, s.Validate(map[string]any{"ok": true, "data": decode(t, data)}), tool)
			require.Error(t, s.Validate(map[string]any{"ok": false, "data": decode(t, data)}), tool)
			require.Error(t, s.Validate(decode(t, data)), tool)
		}
		failure := map[string]any{"code": "not_accepted", "message": "Something is missing.", "issues": []any{"summary: missing"}}
		require.NoError(t, s.Validate(map[string]any{"ok": false, "error": failure}), tool)
		require.Error(t, s.Validate(map[string]any{"ok": true, "error": failure}), tool)
		require.Error(t, s.Validate(map[string]any{"ok": false}), tool)
		failure["code"] = "unheard_of"
		require.Error(t, s.Validate(map[string]any{"ok": false, "error": failure}), tool)
	}
}

func TestCheckResult(t *testing.T) {
	for tool, valid := range samples(t, "results") {
		for _, data := range valid {
			require.NoError(t, schemas.CheckResult(tool, data), tool)
		}
	}
	for name, c := range map[string]struct{ tool, data string }{
		"a missing member":          {"renew", `{"token":"t"}`},
		"a member too many":         {"renew", `{"token":"t","expiresAt":"2026-11-02T08:00:00Z","x":1}`},
		"a time that is none":       {"renew", `{"token":"t","expiresAt":"tomorrow"}`},
		"a hash that is none":       {"upload", `{"id":"f","sha256":"4f1c","bytes":1}`},
		"a duplicate key":           {"send_event", `{"consumedBy":"a","consumedBy":null}`},
		"no JSON":                   {"send_event", `{`},
		"an unknown tool":           {"unheard_of", `{}`},
		"by without at in run data": {"claim", `{"token":"t","expiresAt":"2026-11-02T08:00:00Z","mode":"live","step":{"id":"a","instructions":"","output":null,"evidence":null,"next":null},"handoff":null,"body":"","data":{"inputs":{},"steps":{"a":{"by":"x","history":[]}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, schemas.CheckResult(c.tool, json.RawMessage(c.data)))
		})
	}
}

// each visits every schema document.
func each(t *testing.T, visit func(name string, doc map[string]any)) {
	seen := 0
	require.NoError(t, fs.WalkDir(schemas.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "index.json" {
			return err
		}
		raw, err := fs.ReadFile(schemas.FS(), name)
		if err != nil {
			return err
		}
		seen++
		visit(name, decode(t, raw).(map[string]any))
		return nil
	}))
	require.Greater(t, seen, 2*len(schemas.Tools()))
}

// walk visits every object within a schema.
func walk(node any, visit func(map[string]any)) {
	switch node := node.(type) {
	case map[string]any:
		visit(node)
		for _, v := range node {
			walk(v, visit)
		}
	case []any:
		for _, v := range node {
			walk(v, visit)
		}
	}
}
