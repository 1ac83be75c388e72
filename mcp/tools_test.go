package mcp_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/mcp"
	"github.com/agentprocess-temporal/server/schemas"
)

type listed struct {
	Name, Title, Description  string
	InputSchema, OutputSchema json.RawMessage
	Annotations               map[string]bool
}

func compile(t *testing.T, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("tool.json", doc))
	compiled, err := c.Compile("tool.json")
	require.NoError(t, err)
	return compiled
}

func list(t *testing.T, url, version string) []listed {
	t.Helper()
	var tools []listed
	for _, raw := range send(t, "POST", url, request(version, "tools/list", "", "")).message(t).Result.Tools {
		var tool listed
		require.NoError(t, json.Unmarshal(raw, &tool))
		tools = append(tools, tool)
	}
	return tools
}

func TestToolsListShowsTheFourteenTools(t *testing.T) {
	url := serve(t, echo, mcp.Options{})
	for _, version := range versions {
		var names []string
		for _, tool := range list(t, url, version) {
			names = append(names, tool.Name)
			require.NotEmpty(t, tool.Title, tool.Name)
			require.Equal(t, schemas.Description(tool.Name), tool.Description)
			require.JSONEq(t, string(schemas.InputSchema(tool.Name)), string(tool.InputSchema))
			require.JSONEq(t, string(schemas.OutputSchema(tool.Name)), string(tool.OutputSchema))
			compile(t, tool.InputSchema)
			compile(t, tool.OutputSchema)
		}
		require.ElementsMatch(t, schemas.Tools(), names)
	}
}

func TestToolsThatTakeARequestIdAreWritesThatMayBeRepeated(t *testing.T) {
	url := serve(t, echo, mcp.Options{})
	for _, tool := range list(t, url, newest) {
		var input struct{ Properties map[string]any }
		require.NoError(t, json.Unmarshal(tool.InputSchema, &input))
		_, writes := input.Properties["requestId"]
		require.Equal(t, map[string]bool{
			"readOnlyHint": !writes, "idempotentHint": true, "openWorldHint": false,
			"destructiveHint": tool.Name == "cancel",
		}, tool.Annotations, tool.Name)
	}
}

func TestOnlyToolsOnOfferAreListed(t *testing.T) {
	url := serve(t, echo, mcp.Options{Tools: []string{"describe", "get_work"}})
	tools := list(t, url, newest)
	require.True(t, slices.EqualFunc(tools, []string{"describe", "get_work"}, func(l listed, n string) bool { return l.Name == n }))
	require.Equal(t, -32602, send(t, "POST", url, toolCall(newest, "claim", `{}`)).message(t).Error.Code)
	require.Panics(t, func() { mcp.New(ops(echo), mcp.Options{Tools: []string{"vanish"}}) })
}
