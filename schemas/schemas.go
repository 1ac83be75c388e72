package schemas

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Base is what every $id begins with.
const Base = "https://agentprocess-temporal.github.io/server/schemas/core-2/"

//go:embed core-2
var embedded embed.FS

// FS holds the schema documents: index.json, the shared shapes beside it, and
// tools/<tool>.arguments.json and tools/<tool>.result.json.
func FS() fs.FS {
	files, err := fs.Sub(embedded, "core-2")
	if err != nil {
		panic(err) // the name is fixed at build time
	}
	return files
}

// Tools lists the fourteen tools in the order of the contracts (spec §4).
func Tools() []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.name
	}
	return names
}

// Title is a short name of a tool for people; empty for an unknown tool.
func Title(tool string) string { return text(tool).title }

// Description says in one paragraph, for an agent, who may call a tool, what it
// does and returns, and which errors to expect; empty for an unknown tool.
func Description(tool string) string { return text(tool).description }

func text(tool string) entry {
	i := slices.IndexFunc(tools, func(t entry) bool { return t.name == tool })
	if i < 0 {
		return entry{}
	}
	return tools[i]
}

// documents are the embedded schemas by file name, index.json apart. They are
// shared: do not change them.
var documents = sync.OnceValue(func() map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, pattern := range []string{"*.json", "tools/*.json"} {
		names, err := fs.Glob(FS(), pattern)
		must(err)
		for _, name := range names {
			if name == "index.json" {
				continue
			}
			raw, err := fs.ReadFile(FS(), name)
			must(err)
			var doc map[string]any
			must(json.Unmarshal(raw, &doc))
			all[name] = doc
		}
	}
	return all
})

// compiled are the schemas ready to validate, by file name.
var compiled = sync.OnceValue(func() map[string]*jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for name, doc := range documents() {
		var schema any = doc
		if strings.HasSuffix(name, ".arguments.json") {
			schema = inline(doc, name) // checked at every call: no detours
		}
		must(c.AddResource(Base+name, schema))
	}
	all := map[string]*jsonschema.Schema{}
	for name := range documents() {
		s, err := c.Compile(Base + name)
		must(err)
		all[name] = s
	}
	return all
})

// must is for the embedded files, which the tests load: it cannot fail after.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("schemas: %v", err))
	}
}

func argumentsFile(tool string) string { return path.Join("tools", tool+".arguments.json") }
func resultFile(tool string) string    { return path.Join("tools", tool+".result.json") }
