package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/internal/testenv"
)

// patience bounds every wait here; none takes it unless something is broken.
const patience = 30 * time.Second

func open(t *testing.T, dsn string) *pgxpool.Pool {
	pool, err := postgres.Open(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// eventually waits until a query counts something.
func eventually(t *testing.T, pool *pgxpool.Pool, query string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var n int
		require.NoError(t, pool.QueryRow(t.Context(), query).Scan(&n))
		return n > 0
	}, patience, 5*time.Millisecond, query)
}

func TestAMigrationThatIsKilledInTheMiddleLeavesNothingAndTheNextSucceeds(t *testing.T) {
	dsn := testenv.Postgres(t)
	pool := open(t, dsn)
	held, err := pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = held.Rollback(context.Background()) })
	_, err = held.Exec(t.Context(), `LOCK TABLE drafts IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	future := with(t, "CREATE TABLE future (x int);\nALTER TABLE drafts ADD COLUMN future int;")
	ended := make(chan error, 1)
	go func() { ended <- postgres.MigrateFrom(t.Context(), dsn, future, silent) }()
	eventually(t, pool, `SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE relation = 'drafts'::regclass AND NOT granted`)
	require.Error(t, <-ended)
	require.NoError(t, held.Rollback(t.Context()))
	require.NoError(t, postgres.Check(t.Context(), pool), "the schema is as it was")

	require.NoError(t, postgres.MigrateFrom(t.Context(), dsn, future, silent))
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(future) FROM drafts`).Scan(&n))
}

func TestAMigrationThatWaitsForATableDoesNotHoldUpThoseWhoServe(t *testing.T) {
	dsn := testenv.Postgres(t)
	pool := open(t, dsn)
	long, err := pool.Begin(t.Context()) // a backup, say
	require.NoError(t, err)
	t.Cleanup(func() { _ = long.Rollback(context.Background()) })
	_, err = long.Exec(t.Context(), `SELECT count(*) FROM drafts`)
	require.NoError(t, err)
	future := with(t, "ALTER TABLE drafts ADD COLUMN future int;")
	ended := make(chan error, 1)
	go func() { ended <- postgres.MigrateFrom(t.Context(), dsn, future, silent) }()
	for range 2 { // it tries more than once
		eventually(t, pool, `SELECT count(*) FROM pg_locks WHERE relation = 'drafts'::regclass AND NOT granted AND mode = 'AccessExclusiveLock'`)
		behind, cancel := context.WithTimeout(t.Context(), patience)
		var n int
		require.NoError(t, pool.QueryRow(behind, `SELECT count(*) FROM drafts`).Scan(&n), "whoever came after it waits for seconds, not for the backup")
		cancel()
	}
	require.Empty(t, ended)
	require.NoError(t, long.Rollback(t.Context()))
	require.NoError(t, <-ended)
}

func TestAMigrationWhoseProcessHangsLetsGo(t *testing.T) {
	db, err := postgres.OpenToMigrate(testenv.Postgres(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	var silence string
	require.NoError(t, db.QueryRowContext(t.Context(), `SHOW idle_in_transaction_session_timeout`).Scan(&silence))
	require.Equal(t, "10s", silence)
}

func TestASchemaWhoseFloorWasRaisedRefusesToServeABinaryBelowIt(t *testing.T) {
	dsn := testenv.Postgres(t)
	pool := open(t, dsn)
	newer, err := postgres.Newer(t.Context(), pool)
	require.NoError(t, err)
	require.False(t, newer)

	require.NoError(t, postgres.MigrateFrom(t.Context(), dsn, with(t, "UPDATE schema_floor SET version = 9000;"), silent))
	err = postgres.Check(t.Context(), pool)
	require.ErrorIs(t, err, postgres.ErrNewer)
	require.ErrorContains(t, err, "newer release")
	newer, err = postgres.Newer(t.Context(), pool)
	require.NoError(t, err)
	require.True(t, newer)
	_, err = pool.Exec(t.Context(), `INSERT INTO schema_floor (version) VALUES (1)`)
	require.Error(t, err, "there is one floor")
}

func TestAnOlderBinaryThatWaitedForANewerOnesMigrationIsTold(t *testing.T) {
	dsn := testenv.Postgres(t)
	pool := open(t, dsn)
	held, err := pgx.Connect(t.Context(), dsn) // the newer one
	require.NoError(t, err)
	t.Cleanup(func() { _ = held.Close(context.Background()) })
	_, err = held.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, postgres.LockID)
	require.NoError(t, err)
	_, err = held.Exec(t.Context(), `DELETE FROM schema_migrations WHERE version_id = (SELECT max(version_id) FROM schema_migrations)`)
	require.NoError(t, err) // so that the older one has something to do
	ended := make(chan error, 1)
	go func() { ended <- postgres.Migrate(t.Context(), dsn, silent) }()
	eventually(t, pool, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_try_advisory_lock%' AND pid <> pg_backend_pid()`)
	_, err = held.Exec(t.Context(), `INSERT INTO schema_migrations (version_id, is_applied)
		SELECT v, true FROM generate_series((SELECT max(version_id) + 1 FROM schema_migrations), 9000) v`)
	require.NoError(t, err)
	require.NoError(t, held.Close(t.Context()))
	require.ErrorIs(t, <-ended, postgres.ErrNewer)
}
