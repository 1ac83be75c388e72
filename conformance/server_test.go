package conformance_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/conformance"
	"github.com/agentprocess-temporal/server/internal/server"
	"github.com/agentprocess-temporal/server/internal/servertest"
)

// slowVariable, when set, has the slow checks run as well; onlyVariable names
// checks or clauses, between commas; junitVariable names a file for the result.
const (
	slowVariable  = "AGENTPROCESS_CONFORMANCE_SLOW"
	junitVariable = "AGENTPROCESS_JUNIT"
	onlyVariable  = "AGENTPROCESS_CONFORMANCE_ONLY"
)

// With the slow checks, the server offers everything, and every check runs in
// one go; its lease is long enough for a busy machine, and short enough to wait
// for.
func TestOurServerConforms(t *testing.T) {
	slow := os.Getenv(slowVariable) != ""
	s := servertest.Start(t, func(o *server.Options) {
		if slow {
			o.Evaluator, o.Lease = whimsical{}, 30*time.Second
		}
	})
	report := conform(t, s.URL+"/mcp", configOf(t, s), func(o *conformance.Options) {
		o.SkipSlow = !slow
		if only := os.Getenv(onlyVariable); only != "" {
			o.Only = strings.Split(only, ",")
		}
	})
	if path := os.Getenv(junitVariable); path != "" {
		f, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, report.Write(f, "junit"))
		require.NoError(t, f.Close())
	}
	pass(t, report)
}

func TestLeasesOfOurServerEndInRealTime(t *testing.T) {
	s := servertest.Start(t, func(o *server.Options) { o.Lease = 3 * time.Second })
	pass(t, conform(t, s.URL+"/mcp", configOf(t, s), func(o *conformance.Options) {
		for _, c := range conformance.Checks() {
			if c.Needs.Lease {
				o.Only = append(o.Only, c.ID)
			}
		}
	}))
}

func conform(t *testing.T, url string, config *conformance.Config, adjust func(*conformance.Options)) *conformance.Report {
	t.Helper()
	opts := conformance.Options{URL: url, Config: config}
	adjust(&opts)
	suite, err := conformance.Open(context.Background(), opts)
	require.NoError(t, err)
	return suite.Run(context.Background())
}

// pass shows the failures, and how many checks ran.
func pass(t *testing.T, report *conformance.Report) {
	t.Helper()
	passed, failures, _ := report.Count()
	require.Positive(t, passed)
	if failures > 0 {
		require.NoError(t, report.Write(os.Stdout, "text"))
		t.FailNow()
	}
	t.Log(report.Summary(), report.Took.Round(time.Millisecond))
}

// TestTheProtocolsOwnFixturesAreWorkedThrough takes another set than ours, the
// one that the specification names.
func TestTheProtocolsOwnFixturesAreWorkedThrough(t *testing.T) {
	if servertest.Upstream() == "" {
		t.Skip("the protocol's own fixtures are not beside the checkout")
	}
	fixtures, err := conformance.LoadFixtures(filepath.Join(servertest.Upstream(), "conformance", "fixtures"))
	require.NoError(t, err)
	s := servertest.Start(t)
	report := conform(t, s.URL+"/mcp", configOf(t, s), func(o *conformance.Options) {
		o.Fixtures, o.SkipSlow = fixtures, true
		o.Only = []string{"walk-*", "listed-*"}
	})
	pass(t, report)
}
