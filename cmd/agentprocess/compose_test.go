package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/agentprocess-temporal/server/internal/mcpclient"
	"github.com/agentprocess-temporal/server/internal/testenv"
)

// composed is what docker-compose.yml says of a service of this program.
type composed struct {
	Command     []string
	Environment map[string]string
	DependsOn   map[string]any `yaml:"depends_on"`
}

// TestTheCommandsOfTheComposeFileMakeAServer runs them in the order of the file, with
// its volume, stores and port replaced by those of the test.
func TestTheCommandsOfTheComposeFileMakeAServer(t *testing.T) {
	text, err := os.ReadFile("../../docker-compose.yml")
	require.NoError(t, err)
	var file struct{ Services map[string]composed }
	require.NoError(t, yaml.Unmarshal(text, &file))

	config, address := t.TempDir(), freeAddress(t)
	replace := strings.NewReplacer("/config", config, "0.0.0.0:8080", address, "127.0.0.1:8080", address)
	temporal := testenv.Temporal(t)
	stores := map[string]string{
		"AGENTPROCESS_POSTGRES": testenv.EmptyPostgres(t),
		"TEMPORAL_ADDRESS":      temporal.Address,
		"TEMPORAL_NAMESPACE":    temporal.Namespace,
	}
	args := func(service string) []string {
		s := file.Services[service]
		require.NotEmpty(t, s.Command, service)
		for name, value := range s.Environment {
			if store, ok := stores[name]; ok {
				value = store
			}
			if strings.HasPrefix(value, "${") { // as it is where nothing sets it
				value = ""
			}
			t.Setenv(name, value)
		}
		for name := range stores {
			require.Contains(t, s.Environment, name, service)
		}
		var out []string
		for _, arg := range s.Command {
			out = append(out, replace.Replace(arg))
		}
		return out
	}
	for _, service := range []string{"init", "migrate", "setup-temporal"} {
		require.Contains(t, file.Services["server"].DependsOn, service)
		r := program(t, args(service)...)
		require.Zero(t, r.code, "%s: %s%s", service, r.stdout, r.stderr)
	}

	ctx, stop := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	ended := make(chan int, 1)
	serve := args("server")
	go func() { ended <- execute(ctx, serve, &stdout, &stderr) }()
	require.Eventually(t, func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/readyz", nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	}, time.Minute, 50*time.Millisecond)

	tokens := map[string]string{}
	written, err := os.ReadFile(filepath.Join(config, "tokens.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(written, &tokens))
	c, err := mcpclient.Dial(t.Context(), "http://"+address+"/mcp", tokens["agent:a1"])
	require.NoError(t, err)
	r, err := c.Call(t.Context(), "describe", map[string]any{})
	require.NoError(t, err)
	require.True(t, r.OK, "%v", r.Error)
	require.NoError(t, c.Close())
	stop()
	require.Zero(t, <-ended, stderr.String())
}

// freeAddress is an address on loopback that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}
