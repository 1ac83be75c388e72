package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

func TestARunGoesOnWhereItWasWhenTheServerStartsAgain(t *testing.T) {
	s := Start(t)
	s.Publish(onboarding, map[string]string{"finance-approver": "finance"})
	start := Args{"process": "supplier-onboarding", "inputs": Args{"vendorName": "Acme", "amount": 48000}, "requestId": ID()}
	view := Must[run.View](s, Mira, "start_run", start)
	claim := Args{"runId": view.Run.ID, "stepId": "screen", "requestId": ID()}
	before := Must[json.RawMessage](s, A1, "claim", claim)

	s.Stop()
	s.Run()
	require.Equal(t, view, Must[run.View](s, Mira, "start_run", start), "a lost response is answered again")
	require.Equal(t, string(before), string(Must[json.RawMessage](s, A1, "claim", claim)), "token included")
	var c claimed
	require.NoError(t, json.Unmarshal(before, &c))
	refused := s.Refused(run.NotAccepted, A1, "submit", Args{"token": c.Token, "output": Args{}, "summary": "x", "requestId": ID()})
	require.Len(t, refused.Issues, 5, "the token is still good: the work is not")
	view = Must[run.View](s, Boss, "cancel", Args{"runId": view.Run.ID, "reason": "Enough.", "requestId": ID()})
	require.Equal(t, run.Cancelled, view.Run.State)
}

func TestWhatTheServerServesBesideTheTools(t *testing.T) {
	s := Start(t)
	for path, want := range map[string]struct {
		status   int
		contains string
	}{
		"/healthz":                           {200, `"ok":true`},
		"/readyz":                            {200, `"ok":true`},
		"/schemas/core-2/index.json":         {200, "core-2"},
		"/schemas/core-2/tools/nothing.json": {404, ""},
		"/api/processes":                     {401, ""},
		"/mcp":                               {401, ""},
		"/files/f_1":                         {404, ""},
		"/":                                  {404, ""},
	} {
		res, err := http.Get(s.URL + path) //nolint:noctx // on loopback, in a test
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		_ = res.Body.Close()
		require.Equal(t, want.status, res.StatusCode, path)
		require.Contains(t, string(body), want.contains, path)
		if res.StatusCode == http.StatusUnauthorized {
			require.True(t, strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Bearer "), path)
		}
	}
}
