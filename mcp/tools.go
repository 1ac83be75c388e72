package mcp

import (
	"slices"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentprocess-temporal/server/schemas"
)

// reads are the tools that change nothing. All others take a requestId, which
// makes them safe to repeat (spec §4.2).
var reads = []string{"describe", "list_processes", "get_run", "get_work", "list_runs"}

// describe is a tool as tools/list shows it. It panics on a name that is no
// tool.
func describe(tool string) *mcpsdk.Tool {
	input := schemas.InputSchema(tool)
	if input == nil {
		panic("mcp: no tool has the name " + tool)
	}
	ends, world := tool == "cancel", false
	return &mcpsdk.Tool{
		Name:         tool,
		Title:        schemas.Title(tool),
		Description:  schemas.Description(tool),
		InputSchema:  input,
		OutputSchema: schemas.OutputSchema(tool),
		Annotations: &mcpsdk.ToolAnnotations{
			ReadOnlyHint:    slices.Contains(reads, tool),
			IdempotentHint:  true,
			DestructiveHint: &ends,
			OpenWorldHint:   &world,
		},
	}
}
