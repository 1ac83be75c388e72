package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentprocess-temporal/server/internal/canonical"
	"github.com/agentprocess-temporal/server/run"
)

// Client is a connection to one server as one caller. It is safe for use by many
// goroutines.
type Client struct {
	session *mcpsdk.ClientSession
	idle    *http.Transport
}

// Result is what a tool returned: Data when OK, else Error (spec §4).
type Result struct {
	OK    bool            `json:"ok"`
	Data  json.RawMessage `json:"data"`
	Error *run.Error      `json:"error"`
}

// Dial connects to the MCP endpoint at url with a bearer token, at the newest
// protocol version that both sides speak. The context bounds the connecting
// only.
func Dial(ctx context.Context, url, token string) (*Client, error) {
	idle := http.DefaultTransport.(*http.Transport).Clone()
	idle.MaxIdleConnsPerHost = 100 // many goroutines may share a client
	client := mcpsdk.NewClient(&mcpsdk.Implementation{Name: "agentprocess-client", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcpsdk.StreamableClientTransport{
		Endpoint:             url,
		HTTPClient:           &http.Client{Transport: &exact{token: token, next: idle}},
		DisableStandaloneSSE: true,
		MaxRetries:           -1,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", url, err)
	}
	return &Client{session: session, idle: idle}, nil
}

// Session is the SDK's session beneath, to list tools or read the instructions.
func (c *Client) Session() *mcpsdk.ClientSession { return c.session }

// Close ends the connection.
func (c *Client) Close() error {
	err := c.session.Close()
	c.idle.CloseIdleConnections()
	return err
}

// Call calls a tool. args is anything that marshals to an object, a
// json.RawMessage with numbers of any length among it; nil means no arguments.
// The error is for what is no result of the protocol: a lost connection, a
// protocol error of MCP, a malformed answer. A refusal is a Result.
func (c *Client) Call(ctx context.Context, tool string, args any) (Result, error) {
	if args == nil {
		args = json.RawMessage(`{}`)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return Result{}, fmt.Errorf("%s: arguments: %w", tool, err)
	}
	x := &exchange{tool: tool}
	answer, err := c.session.CallTool(context.WithValue(ctx, exchangeKey{}, x),
		&mcpsdk.CallToolParams{Name: tool, Arguments: json.RawMessage(raw)})
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", tool, err)
	}
	result, err := read(answer, x.structured)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", tool, err)
	}
	return result, nil
}

// read makes a Result of the text of an answer, and checks the rest against it.
func read(answer *mcpsdk.CallToolResult, structured json.RawMessage) (Result, error) {
	if len(answer.Content) != 1 {
		return Result{}, fmt.Errorf("%d pieces of content instead of one", len(answer.Content))
	}
	text, ok := answer.Content[0].(*mcpsdk.TextContent)
	if !ok {
		return Result{}, fmt.Errorf("content is %T instead of text", answer.Content[0])
	}
	if structured == nil && answer.StructuredContent == nil {
		return Result{}, errors.New("no structured content")
	}
	if err := same([]byte(text.Text), structured); err != nil {
		return Result{}, err
	}
	var result Result
	if err := json.Unmarshal([]byte(text.Text), &result); err != nil {
		return Result{}, fmt.Errorf("text content: %w", err)
	}
	switch {
	case result.OK == answer.IsError:
		return Result{}, fmt.Errorf("ok is %t and isError is too", result.OK)
	case result.OK && (result.Data == nil || result.Error != nil),
		!result.OK && (result.Data != nil || result.Error == nil):
		return Result{}, errors.New("a result has data when it is ok, and else an error")
	}
	return result, nil
}

// same checks that structured content is the same JSON as the text, every digit
// of it. Out of an event stream it is not known to the digit, and not checked.
func same(text, structured []byte) error {
	if structured == nil {
		return nil
	}
	a, err := canonical.JSON(text)
	if err != nil {
		return fmt.Errorf("text content: %w", err)
	}
	b, err := canonical.JSON(structured)
	if err != nil {
		return fmt.Errorf("structured content: %w", err)
	}
	if !bytes.Equal(a, b) {
		return errors.New("text and structured content differ")
	}
	return nil
}
