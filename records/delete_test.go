package records_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/files"
	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/ledger"
	"github.com/agentprocess-temporal/server/records"
)

func upload(t *testing.T, pool *pgxpool.Pool, org string, ids ...string) {
	t.Helper()
	b := &pgx.Batch{}
	for _, id := range ids {
		files.QueuePut(b, files.File{Org: org, ID: id}, nil)
		ledger.QueueDone(b, ledger.Entry{Org: org, RequestID: "upload " + id, Digest: []byte{1}})
	}
	require.NoError(t, pool.SendBatch(t.Context(), b).Close())
}

func stored(t *testing.T, pool *pgxpool.Pool, query string) (ids []string) {
	t.Helper()
	rows, err := pool.Query(t.Context(), query)
	require.NoError(t, err)
	ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return ids
}

func TestARunThatIsOverIsDeletedWithAllThatIsItsOwn(t *testing.T) {
	pool := testenv.Pool(t)
	upload(t, pool, "o", "f_own", "f_shared", "f_uncited")
	upload(t, pool, "other", "f_own")
	apply(t, pool,
		with(row("o", "r1"), func(r *records.Row) {
			r.State, r.Files, r.Work = "cancelled", []string{"f_own", "f_shared", "f_gone"}, []records.Work{step("s", noon)}
		}),
		with(row("o", "r2"), func(r *records.Row) { r.Files, r.Work = []string{"f_shared"}, []records.Work{step("s", noon)} }),
		with(row("other", "r1"), func(r *records.Row) { r.State = "ended" }))
	for _, run := range []string{"r1", "r2"} {
		_, err := ledger.Reserve(t.Context(), pool, ledger.Entry{Org: "o", RequestID: "q " + run, RunID: run, Digest: []byte{1}, NotAfter: noon})
		require.NoError(t, err)
	}

	require.NoError(t, records.Delete(t.Context(), pool, "o", "r1"))
	require.Equal(t, []string{"o/r2", "other/r1"}, stored(t, pool, `SELECT org || '/' || run_id FROM runs ORDER BY 1`))
	require.Equal(t, []string{"r2"}, stored(t, pool, `SELECT run_id FROM work`))
	require.Equal(t, []string{"q r2"}, stored(t, pool, `SELECT request_id FROM requests WHERE run_id <> ''`))
	require.Equal(t, []string{"o/f_shared", "o/f_uncited", "other/f_own"}, stored(t, pool, `SELECT org || '/' || id FROM files ORDER BY 1`))
	require.Len(t, stored(t, pool, `SELECT request_id FROM requests WHERE run_id = ''`), 4, "uploads may be sent again")

	require.ErrorIs(t, records.Delete(t.Context(), pool, "o", "r1"), records.ErrNotFound)
}

func TestARunThatIsNotOverIsNotDeleted(t *testing.T) {
	pool := testenv.Pool(t)
	upload(t, pool, "o", "f")
	for _, state := range []string{"active", "waiting"} {
		apply(t, pool, with(row("o", state), func(r *records.Row) { r.State, r.Files = state, []string{"f"} }))
		require.ErrorIs(t, records.Delete(t.Context(), pool, "o", state), records.ErrNotEnded)
		got, _ := look(t, pool, "o", state)
		require.NotNil(t, got)
	}
	require.ErrorIs(t, records.Delete(t.Context(), pool, "other", "active"), records.ErrNotFound)
	require.Len(t, stored(t, pool, `SELECT id FROM files`), 1)
}

func TestOfRunsDeletedAtOnceTheLastTakesTheSharedFiles(t *testing.T) {
	pool := testenv.Pool(t)
	for round := range 20 {
		upload(t, pool, "o", "f_1", "f_2")
		var g errgroup.Group
		for i := range 6 {
			cited := []string{"f_1", "f_2"}
			if i%2 == 1 {
				cited = []string{"f_2", "f_1"}
			}
			run := fmt.Sprintf("r%d.%d", round, i)
			apply(t, pool, with(row("o", run), func(r *records.Row) { r.State, r.Files = "ended", cited }))
		}
		for i := range 6 {
			g.Go(func() error { return records.Delete(t.Context(), pool, "o", fmt.Sprintf("r%d.%d", round, i)) })
		}
		require.NoError(t, g.Wait())
		require.Empty(t, stored(t, pool, `SELECT id FROM files`))
	}
}
