package interop_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/examples"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/devlogin"
	"github.com/agentprocess-temporal/server/identity/trust"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

const signedInProcess = `---
name: signed-in
description: Work, then agree.
steps:
  - { id: work, agent: Work. }
  - { id: agree, person: role, approve: Agree. }
  - { id: done, finish: done }
---
X.
`

// startWithLogin runs a server, and the authorization server of development that
// it sends its callers to.
func startWithLogin(t *testing.T) *Server {
	t.Helper()
	directory, err := identity.ParseDirectory(examples.Directory)
	require.NoError(t, err)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	addr := freeAddr(t)
	var provider *devlogin.Provider
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { provider.ServeHTTP(w, r) }))
	t.Cleanup(site.Close)
	provider, err = devlogin.New(devlogin.Options{
		Issuer: site.URL, Resource: "http://" + addr + "/mcp", Key: key, Directory: func() *identity.Directory { return directory },
	})
	require.NoError(t, err)
	config, err := trust.ParseConfig([]byte(provider.IdentityFile(directory.Org())))
	require.NoError(t, err)
	s := Start(t, func(o *server.Options) {
		// The test's own issuer stays, for what is set up here.
		config.Issuers = slices.Concat(config.Issuers, o.Trust.Issuers)
		o.Addr, o.Trust = addr, config
	})
	s.Publish(signedInProcess, map[string]string{"role": "finance"})
	return s
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func TestAClientThatKnowsOnlyTheAddressSignsInWorksAndDecidesNothing(t *testing.T) {
	requirePackages(t)
	s := startWithLogin(t)
	for _, which := range []string{"sdk-1", "sdk-2"} {
		t.Run(which, func(t *testing.T) {
			// Mira could decide it: she is in the group that is asked.
			got := node(t, []string{"MCP_URL=" + s.URL + "/mcp", "AS=mira@example.com"}, "signs-in.mjs", which)
			require.NoError(t, got.err, "%s", got.stderr)
			var said struct{ RunID, By string }
			require.NoError(t, json.Unmarshal(got.stdout, &said), "%s", got.stdout)
			require.Regexp(t, `^dyn_.*\.[0-9a-f]{16}$`, said.By, "an agent, and not Mira")
			v := Must[run.View](s, Mira, "get_run", Args{"runId": said.RunID})
			require.Equal(t, said.By, v.Data.Steps["work"].By)
			require.Len(t, v.WorkItems, 1)
			v = Must[run.View](s, Mira, "decide", Args{
				"runId": said.RunID, "workItemId": v.WorkItems[0].ID, "snapshot": v.WorkItems[0].Snapshot, "decision": "approved", "requestId": ID(),
			})
			require.Equal(t, run.Ended, v.Run.State)
		})
	}
}
