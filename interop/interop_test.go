package interop_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/run"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// exact is a number that no double holds. JavaScript can read it from the text of
// a result only.
const exact = json.Number("12345678901234567890.123456789")

// start runs a server with the process of these tests published.
func start(t *testing.T) *Server {
	t.Helper()
	process, err := os.ReadFile("testdata/PROCESS.md")
	require.NoError(t, err)
	s := Start(t)
	s.Publish(string(process), nil)
	return s
}

// startRun starts a run whose amount is exact, and returns its id.
func startRun(s *Server) string {
	return Must[run.View](s, A1, "start_run", Args{
		"process": "interop", "inputs": Args{"supplier": "Acme", "amount": exact}, "requestId": ID(),
	}).Run.ID
}

// requireScreened holds what a client says it did against the record.
func requireScreened(t *testing.T, s *Server, runID string) {
	t.Helper()
	view := Must[run.View](s, Boss, "get_run", Args{"runId": runID})
	require.Equal(t, run.Ended, view.Run.State)
	require.NotNil(t, view.Run.Outcome)
	require.Equal(t, "screened", *view.Run.Outcome)
	require.Equal(t, "a1", view.Data.Steps["screen"].By)
}
