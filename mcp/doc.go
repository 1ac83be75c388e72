// Package mcp offers the fourteen tools over the Model Context Protocol:
// Streamable HTTP, stateless, so that any replica serves any call (spec §4).
//
// It is a thin adapter. It knows how MCP carries a call and how a result goes
// back; what a call means is behind [Operations]. What it does by itself:
//
//   - tools/list and the instructions that teach an agent the loop, from schemas
//     and instructions.md;
//   - a check of the arguments against the tool's schema, answered `invalid` with
//     every issue (spec §4.3);
//   - the envelope `{"ok":…}`, as structured content and as text. A refusal is a
//     tool result with isError, so that the agent reads it; a protocol error is
//     for what is no call at all: bad JSON, an unknown method or tool.
//
// Who is calling is proved before: [New] must be mounted behind
// identity/bearer, whose context it reads. One HTTP request is one MCP
// connection here, so the context of a call is that of its own request and of
// no other.
//
// Numbers come through as they were written, in both directions. The SDK would
// read arguments into doubles on its way to the name of the tool, and refuse
// those with a large exponent; so arguments.go takes them out of its sight.
//
// A call goes on when its client leaves: no write stops half way because of it,
// and an orderly shutdown waits for it. Operations bounds its own time.
//
// The package imports the MCP SDK (as mcpsdk), net/http, identity, run and
// schemas. Start at server.go; one call is in call.go.
package mcp
