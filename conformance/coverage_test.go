package conformance_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/conformance"
	"github.com/agentprocess-temporal/server/process"
)

var update = flag.Bool("update", false, "write the generated tables")

func TestEveryClauseHasAChecksOrAReason(t *testing.T) {
	clauses, err := conformance.Clauses()
	require.NoError(t, err)
	checks, err := conformance.EmbeddedChecks()
	require.NoError(t, err)
	for _, c := range clauses {
		require.NotEmpty(t, c.Says, c.Clause)
		require.NotEqual(t, len(c.Checks) == 0, c.Unseen == "", "%s, %q: name its checks, or say why no client sees it", c.Clause, c.Says)
		for _, name := range c.Checks {
			one := conformance.Clause{Checks: []string{name}}
			require.True(t, slices.ContainsFunc(checks, func(k conformance.Check) bool { return one.Names(k.ID) }), "%s, %q: there is no check %s", c.Clause, c.Says, name)
		}
	}
	for _, k := range checks {
		require.True(t, slices.ContainsFunc(clauses, func(c conformance.Clause) bool { return c.Names(k.ID) }), "no clause names the check %s", k.ID)
	}
}

func TestChecksHaveNamesClausesAndTitles(t *testing.T) {
	checks, err := conformance.EmbeddedChecks()
	require.NoError(t, err)
	fixtures, err := conformance.Embedded()
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, c := range checks {
		require.Regexp(t, `^[a-z0-9_-]+$`, c.ID)
		require.False(t, seen[c.ID], "two checks are called %s", c.ID)
		seen[c.ID] = true
		require.NotEmpty(t, c.Clauses, c.ID)
		require.NotEmpty(t, c.Title, c.ID)
		for _, f := range c.Needs.Fixtures {
			require.Contains(t, fixtures, f, c.ID)
		}
	}
}

func TestTheCoverageTableIsUpToDate(t *testing.T) {
	table, err := conformance.Coverage()
	require.NoError(t, err)
	golden(t, "coverage.md", "", "", table)
}

func TestTheMutantsInTheDocumentationAreUpToDate(t *testing.T) {
	golden(t, "../docs/conformance.md", "<!-- mutants -->\n", "<!-- end -->", mutantTable())
}

// golden compares a file, or what is between two marks in it.
func golden(t *testing.T, path, from, to, want string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if !*update || from != "" {
		require.NoError(t, err)
	}
	before, after, got := "", "", string(raw)
	if from != "" {
		var ok1, ok2 bool
		before, got, ok1 = strings.Cut(string(raw), from)
		got, after, ok2 = strings.Cut(got, to)
		require.True(t, ok1 && ok2, "%s has no marks", path)
		before, after = before+from, to+after
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(before+want+after), 0o644))
		return
	}
	require.Equal(t, want, got, "go test ./conformance -update writes %s", path)
}

// TestFixturesUseEveryKeyOfTheFormat holds the set to what it is for.
func TestFixturesUseEveryKeyOfTheFormat(t *testing.T) {
	fixtures, err := conformance.Embedded()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(fixtures), 20)
	used := map[string]bool{}
	note := func(key string, is bool) { used[key] = used[key] || is }
	field := func(f process.Field) {
		note("type "+string(f.Type), true)
		note("description of a field", f.Description != "")
		note("optional", f.Optional)
		note("one_of", f.OneOf != nil)
		note("items", f.Items != nil)
		note("items that are a field", f.Items != nil && (f.Items.OneOf != nil || f.Items.Items != nil))
	}
	for _, f := range fixtures {
		note("inputs", len(f.Process.Inputs) > 0)
		note("requires", f.Process.Requires != nil)
		for _, in := range f.Process.Inputs {
			field(in)
		}
		for _, s := range f.Process.Steps {
			note("kind "+string(s.Kind), true)
			for _, out := range s.Output {
				field(out)
			}
			for _, e := range s.Evidence {
				note("evidence "+string(e), true)
			}
			note("routes", len(s.Routes) > 0)
			for _, r := range s.Routes {
				note("when", r.When != "")
				note("a route without when", r.When == "")
			}
			if s.Person != nil {
				note("person role", s.Person.Role != "")
				note("person initiator", s.Person.Initiator)
				note("person input", s.Person.Path != nil && s.Person.Path.Step == "")
				note("person output", s.Person.Path != nil && s.Person.Path.Step != "")
			}
			note("on_reject", s.OnReject != "")
			note("due", !s.Due.IsZero())
			note("timeout", !s.Timeout.IsZero())
			note("on_timeout", s.OnTimeout != "")
			note("join", s.Next == process.Join)
			note("advisory", s.Advisory)
			for _, q := range s.Check {
				note("ask", q.Ask != "")
				note("pass", q.PassAt != nil)
				note("fail", q.FailBelow != nil)
				note("choice", len(q.OneOf) > 0)
				note("unsure", len(q.UnsureNames) > 0)
				note("levels", len(q.Levels) > 0)
				note("confidence", q.Confidence != nil)
			}
		}
	}
	for key, is := range used {
		require.True(t, is, "no fixture uses %s", key)
	}
	for _, kind := range []process.Kind{process.Agent, process.Task, process.Approve, process.Wait, process.WaitUntil, process.WaitFor, process.Finish, process.Parallel} {
		require.True(t, used["kind "+string(kind)], kind)
	}
	for _, typ := range []process.Type{process.String, process.Number, process.Boolean, process.Date, process.Datetime, process.List, process.Object, process.Person} {
		require.True(t, used["type "+string(typ)], typ)
	}
}
