package conformance_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/conformance"
)

func report(outcomes ...conformance.Outcome) *conformance.Report {
	return &conformance.Report{URL: "http://x/mcp", Version: "core-2", Profiles: []string{"parallel-1"}, Started: time.Unix(0, 0), Outcomes: outcomes}
}

var (
	check  = &conformance.Check{ID: "a-check", Clauses: []string{"spec §3.4"}, Title: "Something | is so"}
	passed = conformance.Outcome{Check: check}
	failed = conformance.Outcome{Check: check, Failure: &conformance.Failure{Message: "it is <not>", Expected: "ok", Got: "stale"}, Calls: []conformance.Call{
		{As: "agents.one", Tool: "submit", Args: json.RawMessage(`{"token":"<token 1>"}`), Answer: json.RawMessage(`{"ok":false}`)},
	}}
)

func TestTheSummarySaysWhetherAServerConforms(t *testing.T) {
	for want, r := range map[string]*conformance.Report{
		"core-2 + parallel-1: conforms, 1 passed, 0 failed, 0 skipped":            report(passed),
		"core-2 + parallel-1: conforms, 1 passed, 0 failed, 1 skipped":            report(passed, conformance.Outcome{Check: check, Skipped: "describe does not offer the tool renew"}),
		"core-2 + parallel-1: passes what was run, 1 passed, 0 failed, 1 skipped": report(passed, conformance.Outcome{Check: check, Skipped: "slow"}),
		"core-2 + parallel-1: fails, 1 passed, 1 failed, 0 skipped":               report(passed, failed),
		"core-2 + parallel-1: nothing checked, 0 passed, 0 failed, 0 skipped":     report(),
	} {
		require.Equal(t, want, r.Summary())
	}
}

func TestEveryFormatTellsAFailureInFull(t *testing.T) {
	for _, format := range conformance.Formats {
		var b bytes.Buffer
		require.NoError(t, report(passed, failed).Write(&b, format))
		require.Contains(t, b.String(), "a-check", format)
		require.Contains(t, b.String(), "it is", format)
		switch format {
		case "json":
			var into struct {
				Failed int
				Checks []struct{ Result, Expected, Got string }
			}
			require.NoError(t, json.Unmarshal(b.Bytes(), &into))
			require.Equal(t, 1, into.Failed)
			require.Equal(t, "stale", into.Checks[1].Got)
		case "junit":
			require.NoError(t, xml.Unmarshal(b.Bytes(), new(struct{})))
			require.Contains(t, b.String(), `failures="1"`)
		case "text":
			require.Contains(t, b.String(), "submit as agents.one {\"token\":\"<token 1>\"}\n      -> {\"ok\":false}")
		}
	}
	require.ErrorContains(t, report().Write(&bytes.Buffer{}, "pdf"), "no format")
}

func TestAConfigurationReadsTheEnvironment(t *testing.T) {
	t.Setenv("CONFORMANCE_TOKEN", "secret")
	text := `agents: { one: { token: "${CONFORMANCE_TOKEN}" }, two: { token: b } }
people: { member: { token: c, person: c }, colleague: { token: d, person: d }, outsider: { token: e, person: e }, operator: { token: f, person: f } }
group: g
published: true
`
	c, err := conformance.ParseConfig([]byte(text))
	require.NoError(t, err)
	require.Equal(t, "secret", c.Agents.One.Token)
	_, err = conformance.ParseConfig([]byte(text + "publish: { command: [x] }\nunheard_of: 1\n"))
	require.ErrorContains(t, err, "unheard_of")
	_, err = conformance.ParseConfig([]byte(text + "publish: { command: [x] }\n"))
	require.ErrorContains(t, err, "exclude each other")
}
