package interop_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/schemas"
)

func TestTheTypeScriptSDKWorksAStep(t *testing.T) {
	requirePackages(t)
	s := start(t)
	exactRun := startRun(s)
	for name, c := range map[string]struct{ which, protocol string }{
		"version 1": {"sdk-1", "2025-11-25"},
		"version 2": {"sdk-2", "2025-11-25"},
		"version 2 at the newest protocol version": {"sdk-2-newest", "2026-07-28"},
	} {
		t.Run(name, func(t *testing.T) {
			got := node(t, []string{
				"MCP_URL=" + s.URL + "/mcp", "MCP_TOKEN=" + s.Token(A1),
				"EXACT_RUN=" + exactRun, "EXACT_AMOUNT=" + exact.String(),
			}, "works-a-step.mjs", c.which)
			require.NoError(t, got.err, "%s", got.stderr)
			var said struct {
				Protocol, RunID string
				Tools           []string
			}
			require.NoError(t, json.Unmarshal(got.stdout, &said), "%s", got.stdout)
			require.Equal(t, c.protocol, said.Protocol)
			require.ElementsMatch(t, schemas.Tools(), said.Tools)
			requireScreened(t, s, said.RunID)
		})
	}
}
