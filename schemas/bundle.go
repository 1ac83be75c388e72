package schemas

import (
	"encoding/json"
	"maps"
	"path"
	"strings"
	"sync"
)

// InputSchema is the schema of a tool's arguments in one piece, without any
// reference, as tools/list shows it; nil for an unknown tool. It names no
// dialect: MCP's default is the one it is written in.
func InputSchema(tool string) json.RawMessage { return bundles().input[tool] }

// OutputSchema is the schema of everything a tool returns, `{ok:true,data}` or
// `{ok:false,error}`, in one document whose references stay within it; nil for
// an unknown tool.
func OutputSchema(tool string) json.RawMessage { return bundles().output[tool] }

type bundled struct{ input, output map[string]json.RawMessage }

var bundles = sync.OnceValue(func() bundled {
	b := bundled{input: map[string]json.RawMessage{}, output: map[string]json.RawMessage{}}
	for _, tool := range Tools() {
		b.input[tool] = encode(inline(documents()[argumentsFile(tool)], argumentsFile(tool)))
		b.output[tool] = encode(envelope(tool))
	}
	return b
})

func encode(schema any) json.RawMessage {
	raw, err := json.Marshal(schema)
	must(err)
	return raw
}

// inline copies a schema and puts what it refers to in place. Keywords beside a
// reference win over those of its target. Arguments refer to no schema that
// refers back, so this ends.
func inline(node any, file string) any {
	switch node := node.(type) {
	case []any:
		list := make([]any, len(node))
		for i, e := range node {
			list[i] = inline(e, file)
		}
		return list
	case map[string]any:
		copied := map[string]any{}
		if ref, ok := node["$ref"].(string); ok {
			target := path.Join(path.Dir(file), ref)
			copied = inline(documents()[target], target).(map[string]any)
		}
		for key, value := range node {
			if key != "$ref" {
				copied[key] = inline(value, file)
			}
		}
		return anonymous(copied)
	}
	return node
}

// anonymous drops what identifies a document, once it is part of another.
func anonymous(schema map[string]any) map[string]any {
	for _, key := range []string{"$schema", "$id"} {
		delete(schema, key)
	}
	if _, named := schema["title"].(string); named {
		delete(schema, "title")
	}
	return schema
}

// envelope is the schema of a whole result: data as the result file of the tool
// has it, or an error.
func envelope(tool string) map[string]any {
	c := collector{defs: map[string]any{}}
	data := c.refer("", resultFile(tool))
	failure := c.refer("", "tool-error.json")
	branch := func(ok bool, needs string) map[string]any {
		return map[string]any{
			"properties": map[string]any{"ok": map[string]any{"const": ok}},
			"required":   []string{"ok", needs},
		}
	}
	return map[string]any{
		"type": "object",
		"properties": map[string]any{
			"ok":    map[string]any{"type": "boolean", "description": "Whether the call did what it says."},
			"data":  map[string]any{"$ref": data, "description": "The result, when ok is true."},
			"error": map[string]any{"$ref": failure, "description": "The refusal, when ok is false."},
		},
		"required":             []string{"ok"},
		"additionalProperties": false,
		"oneOf":                []any{branch(true, "data"), branch(false, "error")},
		"$defs":                c.defs,
	}
}

// collector gathers the documents that a schema refers to under one $defs.
type collector struct{ defs map[string]any }

// refer makes a reference found in a file point into $defs, where it puts the
// target. The name there is that of the document, and of the definition in it.
func (c collector) refer(file, ref string) string {
	document, fragment, _ := strings.Cut(ref, "#")
	target := file
	if document != "" {
		target = path.Join(path.Dir(file), document)
	}
	name := strings.TrimSuffix(strings.TrimSuffix(path.Base(target), ".json"), ".result")
	var schema any = documents()[target]
	if inner, ok := strings.CutPrefix(fragment, "/$defs/"); ok {
		name += "-" + inner
		schema = documents()[target]["$defs"].(map[string]any)[inner]
	}
	if _, known := c.defs[name]; !known {
		c.defs[name] = nil // a schema may refer to itself
		c.defs[name] = c.rewrite(schema, target)
	}
	return "#/$defs/" + name
}

func (c collector) rewrite(node any, file string) any {
	switch node := node.(type) {
	case []any:
		list := make([]any, len(node))
		for i, e := range node {
			list[i] = c.rewrite(e, file)
		}
		return list
	case map[string]any:
		copied := maps.Clone(node)
		delete(copied, "$defs") // each definition moves when it is referred to
		for key, value := range copied {
			if ref, ok := value.(string); ok && key == "$ref" {
				copied[key] = c.refer(file, ref)
			} else {
				copied[key] = c.rewrite(value, file)
			}
		}
		return anonymous(copied)
	}
	return node
}
