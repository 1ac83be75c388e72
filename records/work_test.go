package records_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/records"
)

func TestAgentWorkIsWhatIsAvailableNowTheLongestFirst(t *testing.T) {
	pool := testenv.Pool(t)
	of := func(process string, w records.Work) records.Work { w.Process = process; return w }
	apply(t, pool,
		with(row("o", "r1"), func(r *records.Row) {
			r.Work = []records.Work{step("late", noon.Add(time.Hour)), step("b", noon), step("a", noon),
				step("leased", time.Now().Add(time.Hour)), item("w", "group:g", noon)}
		}),
		with(row("o", "r0"), func(r *records.Row) { r.Process, r.Work = "q", []records.Work{of("q", step("z", noon))} }),
		with(row("o", "r2"), func(r *records.Row) {
			r.Process, r.Work = "s", []records.Work{of("s", step("first", noon.Add(-time.Hour)))}
		}),
		with(row("other", "r3"), func(r *records.Row) { r.Work = []records.Work{step("theirs", noon)} }))

	for _, c := range []struct {
		name string
		q    records.WorkQuery
		keys []string
	}{
		{"all", records.WorkQuery{}, []string{"r2/first", "r0/z", "r1/a", "r1/b", "r1/late"}},
		{"a page", records.WorkQuery{Limit: 2}, []string{"r2/first", "r0/z"}},
		{"one process", records.WorkQuery{Process: "p"}, []string{"r1/a", "r1/b", "r1/late"}},
		{"allowed processes", records.WorkQuery{Processes: []string{"s", "p", "s", "none"}}, []string{"r2/first", "r1/a", "r1/b", "r1/late"}},
		{"a page of allowed processes", records.WorkQuery{Processes: []string{"p", "s"}, Limit: 2}, []string{"r2/first", "r1/a"}},
		{"one allowed process", records.WorkQuery{Process: "q", Processes: []string{"p", "q"}}, []string{"r0/z"}},
		{"one process, not allowed", records.WorkQuery{Process: "q", Processes: []string{"p"}}, nil},
		{"no process allowed", records.WorkQuery{Processes: []string{}}, nil},
		{"another organization", records.WorkQuery{Org: "other"}, []string{"r3/theirs"}},
		{"behind an entry", records.WorkQuery{After: &records.Cursor{Available: noon, RunID: "r1", Key: "a"}}, []string{"r1/b", "r1/late"}},
		{"behind an entry that is gone", records.WorkQuery{After: &records.Cursor{Available: noon, RunID: "r0", Key: "zz"}}, []string{"r1/a", "r1/b", "r1/late"}},
		{"behind an entry, allowed processes", records.WorkQuery{Processes: []string{"p", "q"}, After: &records.Cursor{Available: noon, RunID: "r0", Key: "z"}}, []string{"r1/a", "r1/b", "r1/late"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.keys, agentKeys(t, pool, c.q))
		})
	}
}

func TestWorkComesWithItsRunAndTheMoment(t *testing.T) {
	pool := testenv.Pool(t)
	r := with(row("o", "r"), func(r *records.Row) { r.Seq, r.Work = 7, []records.Work{step("a", noon), step("b", noon)} })
	apply(t, pool, r)
	found, err := records.AgentWork(t.Context(), pool, records.WorkQuery{Org: "o", Limit: 10})
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, found[0].Now, found[1].Now)
	require.WithinDuration(t, time.Now(), found[0].Now, time.Minute)
	require.Equal(t, records.Found{RunID: "r", Key: "a", StepID: "step_a", Available: noon, Process: "p", Version: 3,
		Seq: 7, Record: r.Record, Now: found[0].Now}, found[0])
}

func TestWorkBecomesListedWhenItsMomentComes(t *testing.T) {
	pool := testenv.Pool(t)
	var soon time.Time
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT clock_timestamp() + interval '300 ms'`).Scan(&soon))
	apply(t, pool, with(row("o", "r"), func(r *records.Row) { r.Work = []records.Work{step("a", soon)} }))
	require.Eventually(t, func() bool {
		found, err := records.AgentWork(t.Context(), pool, records.WorkQuery{Org: "o", Limit: 10})
		require.NoError(t, err)
		if len(found) == 1 {
			require.False(t, found[0].Now.Before(soon))
		}
		return len(found) == 1
	}, 10*time.Second, 10*time.Millisecond)
}

func TestAPersonSeesTheItemsOfAllTheirAssignmentsMergedTheOldestFirst(t *testing.T) {
	pool := testenv.Pool(t)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	const mira, finance, legal = "person:mira@example.com", "group:finance", "group:\x00legal"
	other := item("w5", mira, at(5))
	other.Process = "q"
	apply(t, pool,
		with(row("o", "r"), func(r *records.Row) {
			r.Work = []records.Work{item("w1", finance, at(1)), item("w2", mira, at(2)), item("w3", finance, at(3)),
				item("w4", legal, at(4)), step("s", at(0)), item("w9", "person:ben@example.com", at(0))}
		}),
		with(row("o", "r5"), func(r *records.Row) { r.Process, r.Work = "q", []records.Work{other} }),
		with(row("other", "r"), func(r *records.Row) { r.Work = []records.Work{item("theirs", mira, at(0))} }))

	for _, c := range []struct {
		name      string
		assignees []string
		process   string
		after     *records.Cursor
		limit     int
		keys      []string
	}{
		{"all", []string{mira, finance, legal, mira}, "", nil, 10, []string{"r/w1", "r/w2", "r/w3", "r/w4", "r5/w5"}},
		{"some", []string{mira, legal}, "", nil, 10, []string{"r/w2", "r/w4", "r5/w5"}},
		{"nobody", nil, "", nil, 10, nil},
		{"nothing assigned", []string{"group:none", ""}, "", nil, 10, nil},
		{"one process", []string{mira, finance}, "q", nil, 10, []string{"r5/w5"}},
		{"a page", []string{mira, finance}, "", nil, 2, []string{"r/w1", "r/w2"}},
		{"the next page", []string{mira, finance}, "", &records.Cursor{Available: at(2), RunID: "r", Key: "w2"}, 2, []string{"r/w3", "r5/w5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := records.PersonWork(t.Context(), pool, "o", c.assignees, c.process, c.after, c.limit)
			require.NoError(t, err)
			require.Equal(t, c.keys, keysOf(found))
		})
	}
}

// Between two pages, work is taken and comes back: what stayed is listed exactly
// once, in order.
func TestPagesShowWhatStaysExactlyOnceWhileTheRestChanges(t *testing.T) {
	pool := testenv.Pool(t)
	run := func(i int, work ...records.Work) records.Row {
		return with(row("o", fmt.Sprintf("r%02d", i)), func(r *records.Row) { r.Work = work })
	}
	const runs = 40
	for i := range runs {
		apply(t, pool, run(i, step("s", noon.Add(time.Duration(i/4)*time.Minute))))
	}
	seen := map[string]int{}
	var after *records.Cursor
	seq, changed := int64(1), 0
	for {
		found, err := records.AgentWork(t.Context(), pool, records.WorkQuery{Org: "o", After: after, Limit: 7})
		require.NoError(t, err)
		if len(found) == 0 {
			break
		}
		for _, f := range found {
			if after != nil {
				require.Positive(t, compare(f.Cursor(), *after), "in order")
			}
			seen[f.RunID]++
			c := f.Cursor()
			after = &c
		}
		// The entry that the cursor names goes, and one before it comes again,
		// behind everything.
		seq++
		gone := with(run(0), func(r *records.Row) { r.RunID, r.Seq = after.RunID, seq })
		back := with(run(changed, step("s", noon.Add(time.Hour))), func(r *records.Row) { r.Seq = seq })
		if gone.RunID == back.RunID {
			continue
		}
		apply(t, pool, gone, back)
		changed++
	}
	for i := changed; i < runs; i++ {
		require.Equal(t, 1, seen[fmt.Sprintf("r%02d", i)], "run %d", i)
	}
}

func compare(a, b records.Cursor) int {
	if c := a.Available.Compare(b.Available); c != 0 {
		return c
	}
	if a.RunID != b.RunID {
		return map[bool]int{true: 1, false: -1}[a.RunID > b.RunID]
	}
	return map[bool]int{true: 1, false: -1}[a.Key > b.Key]
}
