package conformance

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// whyNot puts what went wrong when connecting into one line.
func (s *Suite) whyNot(name string, err error) error {
	var unreachable *url.Error
	var status *httpError
	var refused *rpcError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return cannot("%s takes a connection and does not answer within %s", s.opts.URL, helloWithin)
	case errors.As(err, &status) && (status.status == http.StatusUnauthorized || status.status == http.StatusForbidden):
		return cannot("%s does not accept the token of %s (HTTP %d)", s.opts.URL, name, status.status)
	case errors.As(err, &status):
		return cannot("%s does not speak MCP: initialize was answered HTTP %d", s.opts.URL, status.status)
	case errors.As(err, &refused):
		return cannot("%s speaks JSON-RPC, but refuses to initialize MCP: %s", s.opts.URL, refused.Message)
	case errors.As(err, &unreachable):
		return cannot("nothing answers at %s: %v", s.opts.URL, oneLine(unreachable.Err))
	}
	return cannot("%s does not speak MCP: %v", s.opts.URL, oneLine(err))
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// helloWithin is how long a server may take for each thing that it is asked before
// the checks.
const helloWithin = 20 * time.Second

// learn reads describe and finds the ids of the callers.
func (s *Suite) learn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	listed, err := s.One.wire.tools(ctx)
	if err != nil {
		return cannot("%s speaks MCP, but does not list its tools: %v", s.opts.URL, oneLine(err))
	}
	if !slices.Contains(listed, "describe") {
		return cannot("%s speaks MCP, but is no Agent Process server: it has no tool describe", s.opts.URL)
	}
	raw, err := s.One.wire.call(ctx, "describe", []byte(`{}`))
	if err != nil {
		return cannot("%s speaks MCP, but is no Agent Process server: describe failed: %v", s.opts.URL, oneLine(err))
	}
	result, err := readResult(raw)
	if err != nil || !result.OK || result.Data.Str("protocol") != "agentprocess" {
		return cannot("%s speaks MCP, but is no Agent Process server: describe does not say protocol agentprocess", s.opts.URL)
	}
	if v := result.Data.Str("version"); v != "core-2" {
		return cannot("%s speaks version %q of Agent Process; this runner knows core-2", s.opts.URL, v)
	}
	s.Describe = result.Data
	s.Tools, s.Profiles = result.Data.Strs("tools"), result.Data.Strs("profiles")
	s.Lease = time.Duration(max(1, result.Data.Int("leaseSeconds"))) * time.Second
	return nil
}
