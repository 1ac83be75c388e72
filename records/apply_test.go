package records_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/ledger"
	"github.com/agentprocess-temporal/server/records"
)

func TestALookTellsThePresentAlsoWhereThereIsNoRun(t *testing.T) {
	pool := testenv.Pool(t)
	got, now := look(t, pool, "o", "r")
	require.Nil(t, got)
	require.WithinDuration(t, time.Now(), now, time.Minute)
}

func TestARecordIsReadBackAsItWasApplied(t *testing.T) {
	pool := testenv.Pool(t)
	outcome := "done"
	r := with(row("o", "r"), func(r *records.Row) {
		r.State, r.Outcome, r.Files, r.InputKeys = "ended", &outcome, []string{"f_1"}, []string{"k\x00\xff"}
	})
	apply(t, pool, r)
	got, now := look(t, pool, "o", "r")
	r.InputKeys = nil
	require.Equal(t, &r, got)
	require.WithinDuration(t, time.Now(), now, time.Minute)

	got, _ = look(t, pool, "other", "r")
	require.Nil(t, got)
}

func TestANewerRecordReplacesAnOlderOneWithItsWorkAndNeverTheReverse(t *testing.T) {
	pool := testenv.Pool(t)
	first := with(row("o", "r"), func(r *records.Row) {
		r.Work = []records.Work{step("a", noon), step("b", noon), item("w", "group:g", noon)}
	})
	third := with(first, func(r *records.Row) {
		r.Seq, r.State, r.Record = 3, "waiting", []byte(`3`)
		r.Work = []records.Work{step("b", noon.Add(time.Second)), item("w", "person:mira@example.com", noon)}
	})
	second := with(first, func(r *records.Row) {
		r.Seq, r.Record, r.Work = 2, []byte(`2`), []records.Work{step("c", noon)}
	})
	ended := with(first, func(r *records.Row) { r.Seq, r.State, r.Work = 4, "ended", nil })

	items := func(assignee string) []string {
		found, err := records.PersonWork(t.Context(), pool, "o", []string{assignee}, "", nil, 10)
		require.NoError(t, err)
		return keysOf(found)
	}
	apply(t, pool, first)
	require.Equal(t, []string{"r/a", "r/b"}, agentKeys(t, pool, records.WorkQuery{}))
	require.Equal(t, []string{"r/w"}, items("group:g"))

	apply(t, pool, third)
	for range 2 { // the second time an older record comes in between
		got, _ := look(t, pool, "o", "r")
		require.EqualValues(t, 3, got.Seq)
		require.Equal(t, `3`, string(got.Record))
		require.Equal(t, []string{"r/b"}, agentKeys(t, pool, records.WorkQuery{}))
		require.Empty(t, items("group:g"))
		require.Equal(t, []string{"r/w"}, items("person:mira@example.com"))
		apply(t, pool, second, first)
	}

	apply(t, pool, ended, third)
	require.Empty(t, agentKeys(t, pool, records.WorkQuery{}))
	require.Empty(t, items("person:mira@example.com"))
}

func TestApplyingTheSameRecordAgainWritesNothing(t *testing.T) {
	pool := testenv.Pool(t)
	r := with(row("o", "r"), func(r *records.Row) { r.Work = []records.Work{step("a", noon), item("w", "group:g", noon)} })
	apply(t, pool, r)
	versions := func() (v string) {
		require.NoError(t, pool.QueryRow(t.Context(),
			`SELECT (SELECT ctid::text FROM runs) || (SELECT string_agg(ctid::text, ',' ORDER BY key) FROM work)`).Scan(&v))
		return v
	}
	before := versions()
	apply(t, pool, r)
	require.Equal(t, before, versions())

	r.Seq = 2
	apply(t, pool, r)
	var same string
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT string_agg(ctid::text, ',' ORDER BY key) FROM work`).Scan(&same))
	require.Contains(t, before, same, "work that a newer record still has stays in place")
}

func TestAnApplyReachesOneRunOnly(t *testing.T) {
	pool := testenv.Pool(t)
	work := []records.Work{step("a", noon)}
	apply(t, pool,
		with(row("o", "r"), func(r *records.Row) { r.Work = work }),
		with(row("o", "r2"), func(r *records.Row) { r.Work = work }),
		with(row("other", "r"), func(r *records.Row) { r.Work = work }),
		with(row("o", "r"), func(r *records.Row) { r.Seq = 2 }))
	require.Equal(t, []string{"r2/a"}, agentKeys(t, pool, records.WorkQuery{}))
	require.Equal(t, []string{"r/a"}, agentKeys(t, pool, records.WorkQuery{Org: "other"}))
}

// Whatever the order in which records of one run arrive, and however many at
// once, the newest stands with exactly its own work; its requests are stored.
func TestAppliesOfOneRunAtOnceEndWithTheNewestRecordAndItsWork(t *testing.T) {
	pool := testenv.Pool(t)
	const records_, appliers = 30, 8
	record := func(run string, seq int) records.Row {
		return with(row("o", run), func(r *records.Row) {
			r.Seq = int64(seq)
			for i := range 4 {
				if (seq>>i)&1 == 1 {
					r.Work = append(r.Work, step(fmt.Sprint("s", i), noon.Add(time.Duration(seq)*time.Second)))
				}
			}
			r.Work = append(r.Work, step(fmt.Sprint("only", seq), noon))
		})
	}
	for round := range 5 {
		run := fmt.Sprint("r", round)
		var g errgroup.Group
		for range appliers {
			g.Go(func() error {
				for _, i := range rand.Perm(records_) {
					b := &pgx.Batch{}
					records.QueueApply(b, record(run, i+1))
					for n := range 3 {
						ledger.QueueDone(b, ledger.Entry{Org: "o", RequestID: fmt.Sprint(run, (i+n)%5), Digest: []byte{1},
							RunID: run, NotAfter: noon})
					}
					if err := pool.SendBatch(t.Context(), b).Close(); err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
		newest := record(run, records_)
		got, _ := look(t, pool, "o", run)
		require.EqualValues(t, records_, got.Seq)
		found, err := records.AgentWork(t.Context(), pool, records.WorkQuery{Org: "o", Limit: 1000})
		require.NoError(t, err)
		available := map[string]time.Time{}
		for _, f := range found {
			if f.RunID == run {
				available[f.Key] = f.Available
			}
		}
		require.Len(t, available, len(newest.Work))
		for _, w := range newest.Work {
			require.Equal(t, w.Available, available[w.Key], w.Key)
		}
	}
}
