package ledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/ledger"
)

// asking asks, at the end of each batch, how it will be committed.
type asking struct {
	*pgxpool.Pool
	commit string
}

func (a *asking) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	b.Queue(`SHOW synchronous_commit`).QueryRow(func(row pgx.Row) error { return row.Scan(&a.commit) })
	return a.Pool.SendBatch(ctx, b)
}

func TestAReservationDoesNotWaitForTheDiskAndNothingElseDoesNot(t *testing.T) {
	config := testenv.Pool(t).Config()
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	_, err = pool.Exec(t.Context(), `SET synchronous_commit = on`)
	require.NoError(t, err)

	a := &asking{Pool: pool}
	existing, err := ledger.Reserve(t.Context(), a, ledger.Entry{
		Org: "o", RequestID: "q", Digest: []byte{1}, Tool: "claim", RunID: "r", Attempt: "a", NotAfter: time.Now(),
	})
	require.NoError(t, err)
	require.Nil(t, existing)
	require.Equal(t, "off", a.commit)

	require.NoError(t, a.SendBatch(t.Context(), &pgx.Batch{}).Close())
	require.Equal(t, "on", a.commit)
}
