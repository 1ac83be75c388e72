package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentprocess-temporal/server/run"
)

const (
	serverVariable = "AGENTPROCESS_SERVER"
	tokenVariable  = "AGENTPROCESS_TOKEN"

	// callLasts bounds one call, and maxAnswer what it may bring, in bytes.
	callLasts = time.Minute
	maxAnswer = 64 << 20
)

// target says which server to talk to, and as whom.
type target struct{ server, token, data, as string }

// flags adds the flags that every command with a server has.
func (t *target) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.server, "server", "", "address of the server, such as https://process.example.com ("+serverVariable+")")
	f.StringVar(&t.token, "token", "", "bearer token of a publisher or operator ("+tokenVariable+")")
	f.StringVar(&t.data, "data", "", "directory of a development stack, instead of --server and --token")
	f.StringVar(&t.as, "as", "", "with --data: who to be, such as person:ops@example.com")
	cmd.MarkFlagsMutuallyExclusive("server", "data")
	cmd.MarkFlagsMutuallyExclusive("token", "data")
}

// client finds the server. What is wrong with the flags is a misuse.
func (t *target) client() (*apiClient, error) {
	if t.data != "" {
		return stackClient(t.data, t.as)
	}
	if t.as != "" {
		return nil, misuse("--as goes with --data, the directory of a development stack")
	}
	address, token := t.server, t.token
	if address == "" {
		address = os.Getenv(serverVariable)
	}
	if token == "" {
		token = os.Getenv(tokenVariable)
	}
	if address == "" {
		return nil, misuse("say which server: --server (or %s), or --data of a development stack", serverVariable)
	}
	base, err := apiAddress(address)
	if err != nil {
		return nil, err
	}
	if token == "" {
		if token, err = savedToken(strings.TrimSuffix(base, "/api")); err != nil {
			return nil, err
		}
	}
	if token == "" {
		return nil, misuse("a token is needed: sign in with `agentprocess login`, or give --token (or %s)", tokenVariable)
	}
	return newClient(base, token), nil
}

// apiAddress is where the API of a server is. The address of the API itself is
// taken, too.
func apiAddress(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", misuse("%q is not the address of a server, which looks like https://process.example.com", server)
	}
	return strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/api") + "/api", nil
}

// apiClient talks to the API of a server.
type apiClient struct {
	base, token string
	http        *http.Client
	// hint follows a message that the server cannot be reached.
	hint string
}

func newClient(base, token string) *apiClient {
	return &apiClient{base: base, token: token, http: &http.Client{
		Timeout: callLasts,
		// A redirect would turn a write into a read.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// call sends one request and reads the data of its answer into a value; a
// refusal of the server is the error. Path elements that callers chose must be
// escaped.
func (c *apiClient) call(ctx context.Context, method, path string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := c.http.Do(req)
	if err != nil {
		var reason *url.Error
		if errors.As(err, &reason) {
			err = reason.Err
		}
		return fmt.Errorf("cannot reach the server at %s: %w%s", c.base, err, c.hint)
	}
	defer func() { _ = res.Body.Close() }() // read only: nothing to lose
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("the answer of %s broke off: %w", c.base, err)
	}
	return c.read(res, text, into)
}

// read opens the envelope of an answer.
func (c *apiClient) read(res *http.Response, text []byte, into any) error {
	if res.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("the server at %s does not accept the token: it may have expired%s", c.base, c.hint)
	}
	var envelope struct {
		OK    *bool           `json:"ok"`
		Data  json.RawMessage `json:"data"`
		Error *run.Error      `json:"error"`
	}
	if err := json.Unmarshal(text, &envelope); err == nil && envelope.OK != nil {
		switch {
		case *envelope.OK && json.Unmarshal(envelope.Data, into) == nil:
			return nil
		case !*envelope.OK && envelope.Error != nil:
			e := envelope.Error
			return &issuesError{message: fmt.Sprintf("%s (%s)", e.Message, e.Code), issues: e.Issues}
		}
	}
	if location := res.Header.Get("Location"); location != "" && res.StatusCode/100 == 3 {
		return fmt.Errorf("the server at %s sends on to %s; use the address it really has", c.base, location)
	}
	return fmt.Errorf("%s is not the API of an Agent Process server: it answered %s: %s",
		res.Request.URL, res.Status, oneLine(string(text), 200))
}
