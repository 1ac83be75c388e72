package conformance_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/conformance"
	"github.com/agentprocess-temporal/server/internal/server"
	"github.com/agentprocess-temporal/server/internal/servertest"
)

// mutantVariable names one mutant to run alone.
const mutantVariable = "AGENTPROCESS_MUTANT"

// bench is a server for mutants: published, and its callers known.
type bench struct {
	url    string
	config *conformance.Config
	tokens map[string]string
}

func newBench(t *testing.T, adjust ...func(*server.Options)) *bench {
	t.Helper()
	s := servertest.Start(t, adjust...)
	c := configOf(t, s)
	suite, err := conformance.Open(context.Background(), conformance.Options{URL: s.URL + "/mcp", Config: c})
	require.NoError(t, err, "publishing the fixtures")
	c.Agents.One.ID, c.Agents.Two.ID = suite.One.ID, suite.Two.ID
	c.People.Member.ID, c.People.Colleague.ID, c.People.Outsider.ID, c.People.Operator.ID = suite.Member.ID, suite.Colleague.ID, suite.Outsider.ID, suite.Boss.ID
	return &bench{url: s.URL + "/mcp", config: c, tokens: map[string]string{
		"agents.one": c.Agents.One.Token, "agents.two": c.Agents.Two.Token, "people.member": c.People.Member.Token, "people.colleague": c.People.Colleague.Token,
		"people.outsider": c.People.Outsider.Token, "people.operator": c.People.Operator.Token, "other.agent": c.Other.Agent.Token,
	}}
}

// run puts a mutant in front of the server and runs checks against it.
func (b *bench) run(t *testing.T, m mutant, only []string) *conformance.Report {
	t.Helper()
	broken := m.broken
	if broken == nil {
		broken = func(_ *proxy, x *exchange) { x.ask() }
	}
	p := newProxy(t, b.url, b.tokens, broken)
	c := *b.config
	publishing := slices.ContainsFunc(only, func(id string) bool {
		return strings.HasPrefix(id, "publish-") || strings.HasPrefix(id, "version-")
	})
	if !publishing {
		c.Publish, c.Published = nil, true
	}
	if m.config != nil {
		m.config(&c)
	}
	suite, err := conformance.Open(context.Background(), conformance.Options{URL: p.url, Config: &c, Only: only, Parallel: 4})
	require.NoError(t, err)
	return suite.Run(context.Background())
}

func TestEveryMutantIsCaught(t *testing.T) {
	ordinary := newBench(t)
	brief := newBench(t, func(o *server.Options) { o.Lease = 3 * time.Second })
	judging := newBench(t, func(o *server.Options) { o.Evaluator = whimsical{} })
	benchOf := func(m mutant) *bench {
		switch {
		case m.lease:
			return brief
		case m.judged:
			return judging
		}
		return ordinary
	}
	t.Run("mutants", func(t *testing.T) {
		for _, m := range mutants {
			t.Run(m.name, func(t *testing.T) {
				if one := os.Getenv(mutantVariable); one != "" && one != m.name {
					t.Skip("another mutant was asked for")
				}
				t.Parallel()
				report := benchOf(m).run(t, m, m.caught)
				require.Len(t, report.Outcomes, len(m.caught), "checks of these names exist")
				for _, o := range report.Outcomes {
					require.Empty(t, o.Skipped, o.Check.ID)
					require.NotNil(t, o.Failure, "%s passes though %s", o.Check.ID, m.name)
				}
			})
		}
	})
	t.Run("without a mutant the same checks pass", func(t *testing.T) {
		caught := map[*bench][]string{}
		for _, m := range mutants {
			caught[benchOf(m)] = append(caught[benchOf(m)], m.caught...)
		}
		for b, ids := range caught {
			pass(t, b.run(t, mutant{}, ids))
		}
	})
}

func TestThereAreMutantsEnoughAndEachIsItself(t *testing.T) {
	require.GreaterOrEqual(t, len(mutants), 40)
	seen := map[string]bool{}
	for _, m := range mutants {
		require.False(t, seen[m.name], "two mutants are called %q", m.name)
		seen[m.name] = true
		require.NotEmpty(t, m.caught, m.name)
	}
}

// mutantTable is the table of mutants in docs/conformance.md.
func mutantTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d mutants, each caught by the checks beside it:\n\n| Mutant | Rule that it breaks | Caught by |\n|---|---|---|\n", len(mutants))
	for _, m := range mutants {
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", m.name, m.rule, strings.Join(m.caught, "`, `"))
	}
	return b.String()
}
