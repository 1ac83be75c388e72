package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime/debug"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/bearer"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/schemas"
)

// handler serves one tool.
func handler(ops Operations, tool string, invalid func(context.Context, string)) mcpsdk.ToolHandler {
	return func(ctx context.Context, req *mcpsdk.CallToolRequest) (*mcpsdk.CallToolResult, error) {
		args := req.Params.Arguments
		c := carriedBy(ctx)
		if c != nil {
			args = c.args
		}
		args = bytes.TrimSpace(args)
		if len(args) == 0 || string(args) == "null" {
			args = json.RawMessage(`{}`)
		}
		if issues := schemas.CheckArguments(tool, args); len(issues) > 0 {
			if invalid != nil {
				invalid(ctx, tool)
			}
			return refusal(c, run.Refuse(run.Invalid, "The arguments are not as the tool's schema asks.", issues...)), nil
		}
		caller, ok := bearer.From(ctx)
		if !ok { // requireCaller has let no such request through
			return nil, errors.New("no caller")
		}
		data, refused := call(ctx, ops, caller, tool, args)
		if refused != nil {
			return refusal(c, refused), nil
		}
		return result(c, wrap(`{"ok":true,"data":`, data), false), nil
	}
}

// call asks operations, and answers `retry` for what they must not do: panic, or
// return data that is no JSON. The SDK runs calls on goroutines of its own, where
// a panic would end the process.
func call(ctx context.Context, ops Operations, caller identity.Caller, tool string, args json.RawMessage) (data json.RawMessage, refused *run.Error) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "a tool panicked", "tool", tool, "org", caller.Org, "panic", p, "stack", string(debug.Stack()))
			data, refused = nil, unexpected()
		}
	}()
	data, refused = ops.Call(ctx, caller, tool, args)
	if refused == nil && !json.Valid(data) {
		slog.ErrorContext(ctx, "a tool returned data that is not JSON", "tool", tool, "org", caller.Org)
		return nil, unexpected()
	}
	return data, refused
}

func unexpected() *run.Error {
	return run.Refuse(run.Retry, "Something went wrong here. Send the same call again, with the same requestId.")
}

func refusal(c *carried, e *run.Error) *mcpsdk.CallToolResult {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		panic(err) // strings only
	}
	return result(c, wrap(`{"ok":false,"error":`, bytes.TrimSpace(text.Bytes())), true)
}

func wrap(prefix string, value []byte) json.RawMessage {
	envelope := make(json.RawMessage, 0, len(prefix)+len(value)+1)
	envelope = append(envelope, prefix...)
	envelope = append(envelope, value...)
	return append(envelope, '}')
}

// result carries one JSON text twice: as structured content, and as text for
// clients that know no other. Raw JSON is passed on without being decoded, and
// past the SDK where there is a way.
func result(c *carried, envelope json.RawMessage, isError bool) *mcpsdk.CallToolResult {
	if c != nil {
		c.result = envelope
		return &mcpsdk.CallToolResult{
			Content:           []mcpsdk.Content{&mcpsdk.TextContent{Text: placeholder}},
			StructuredContent: json.RawMessage(`"` + placeholder + `"`),
			IsError:           isError,
		}
	}
	return &mcpsdk.CallToolResult{
		Content:           []mcpsdk.Content{&mcpsdk.TextContent{Text: string(envelope)}},
		StructuredContent: envelope,
		IsError:           isError,
	}
}
