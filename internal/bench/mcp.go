package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/google/uuid"
)

// mcpClient calls tools over MCP as plainly as HTTP allows.
type mcpClient struct {
	url, token string
	http       *http.Client
}

type arguments = map[string]any

// call calls a tool and returns the result's data. A refusal is an error: what
// is measured here is never refused.
func (c *mcpClient) call(ctx context.Context, tool string, args any) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": args},
	})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", "2025-11-25")
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	var answer struct {
		Result struct {
			StructuredContent struct {
				OK   bool            `json:"ok"`
				Data json.RawMessage `json:"data"`
			} `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || !answer.Result.StructuredContent.OK {
		return nil, fmt.Errorf("%s: %s: %.2000s", tool, res.Status, text)
	}
	return answer.Result.StructuredContent.Data, nil
}

// start starts a run and returns its id.
func (c *mcpClient) start(ctx context.Context, process string) (runID string, err error) {
	data, err := c.call(ctx, "start_run", arguments{
		"process": process, "inputs": json.RawMessage(inputs), "requestId": uuid.NewString(),
	})
	if err != nil {
		return "", err
	}
	var view struct {
		Run struct {
			ID string `json:"id"`
		} `json:"run"`
	}
	return view.Run.ID, json.Unmarshal(data, &view)
}

// claim claims a step and returns the token.
func (c *mcpClient) claim(ctx context.Context, runID, stepID string) (token string, err error) {
	data, err := c.call(ctx, "claim", arguments{"runId": runID, "stepId": stepID, "requestId": uuid.NewString()})
	if err != nil {
		return "", err
	}
	var granted struct {
		Token string `json:"token"`
	}
	return granted.Token, json.Unmarshal(data, &granted)
}

// submit completes the step of a token.
func (c *mcpClient) submit(ctx context.Context, token string) error {
	_, err := c.call(ctx, "submit", arguments{
		"token": token, "output": json.RawMessage(output), "summary": summary, "requestId": uuid.NewString(),
	})
	return err
}
