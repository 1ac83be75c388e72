package records_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/records"
)

func TestRunsAreListedTheLastStartedFirstByAnyCombinationOfFilters(t *testing.T) {
	pool := testenv.Pool(t)
	long := strings.Repeat("long", 50_000)
	for i := range 6 {
		apply(t, pool, with(row("o", fmt.Sprint("r", i)), func(r *records.Row) {
			r.StartedAt = noon.Add(time.Duration(i/2) * time.Minute)
			r.Process = []string{"p", "q"}[i%2]
			r.State = []string{"active", "waiting", "ended"}[i%3]
			r.InputKeys = []string{fmt.Sprint("a=", i%2), fmt.Sprint("b=", i), "c=\x00" + long}
		}))
	}
	apply(t, pool, with(row("other", "theirs"), func(r *records.Row) { r.InputKeys = []string{"a=0"} }))

	for _, c := range []struct {
		name string
		q    records.RunsQuery
		ids  []string
	}{
		{"all", records.RunsQuery{}, []string{"r5", "r4", "r3", "r2", "r1", "r0"}},
		{"a page", records.RunsQuery{Limit: 3}, []string{"r5", "r4", "r3"}},
		{"the next page", records.RunsQuery{After: &records.RunsCursor{StartedAt: noon.Add(time.Minute), RunID: "r3"}}, []string{"r2", "r1", "r0"}},
		{"of a process", records.RunsQuery{Process: "q"}, []string{"r5", "r3", "r1"}},
		{"in a state", records.RunsQuery{State: "ended"}, []string{"r5", "r2"}},
		{"with an input", records.RunsQuery{InputKeys: []string{"a=0"}}, []string{"r4", "r2", "r0"}},
		{"with all of some inputs", records.RunsQuery{InputKeys: []string{"a=0", "b=2"}}, []string{"r2"}},
		{"with a value of any size", records.RunsQuery{InputKeys: []string{"c=\x00" + long}, Limit: 1}, []string{"r5"}},
		{"with no such input", records.RunsQuery{InputKeys: []string{"a=0", "b=1"}}, nil},
		{"everything at once", records.RunsQuery{Process: "p", State: "active", InputKeys: []string{"a=0"},
			After: &records.RunsCursor{StartedAt: noon.Add(time.Hour), RunID: ""}}, []string{"r0"}},
		{"another organization", records.RunsQuery{Org: "other", InputKeys: []string{"a=0"}}, []string{"theirs"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.q.Org == "" {
				c.q.Org = "o"
			}
			if c.q.Limit == 0 {
				c.q.Limit = 10
			}
			found, err := records.ListRuns(t.Context(), pool, c.q)
			require.NoError(t, err)
			var ids []string
			for _, r := range found {
				ids = append(ids, r.RunID)
			}
			require.Equal(t, c.ids, ids)
		})
	}
}

func TestActiveGoesThroughTheRunsThatAreNotOver(t *testing.T) {
	pool := testenv.Pool(t)
	for i, state := range []string{"active", "ended", "waiting", "cancelled", "active"} {
		for _, org := range []string{"b", "a"} {
			apply(t, pool, with(row(org, fmt.Sprint("r", i)), func(r *records.Row) { r.State, r.Seq = state, int64(i) }))
		}
	}
	var all []string
	var after *records.ActiveRun
	for {
		page, err := records.Active(t.Context(), pool, after, 2)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for _, a := range page {
			all = append(all, fmt.Sprint(a.Org, "/", a.RunID, "@", a.Seq))
		}
		after = &page[len(page)-1]
	}
	require.Equal(t, []string{"a/r0@0", "a/r2@2", "a/r4@4", "b/r0@0", "b/r2@2", "b/r4@4"}, all)
}
