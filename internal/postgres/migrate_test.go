package postgres_test

import (
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var silent = slog.New(slog.DiscardHandler)

func TestMigratingAnEmptyDatabaseBringsItToTheEmbeddedVersion(t *testing.T) {
	dsn := testenv.EmptyPostgres(t)
	pool, err := postgres.Open(t.Context(), dsn)
	require.NoError(t, err)
	defer pool.Close()

	err = postgres.Check(t.Context(), pool)
	require.ErrorIs(t, err, postgres.ErrOlder)
	require.ErrorContains(t, err, "agentprocess migrate")

	require.NoError(t, postgres.Migrate(t.Context(), dsn, silent))
	require.NoError(t, postgres.Check(t.Context(), pool))
	require.NoError(t, postgres.Migrate(t.Context(), dsn, silent), "a second time there is nothing to do")
}

func TestReplicasThatMigrateAtOnceAllSucceed(t *testing.T) {
	dsn := testenv.EmptyPostgres(t)
	var g errgroup.Group
	for range 8 {
		g.Go(func() error { return postgres.Migrate(t.Context(), dsn, silent) })
	}
	require.NoError(t, g.Wait())
	pool, err := postgres.Open(t.Context(), dsn)
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, postgres.Check(t.Context(), pool))
}

func TestADatabaseOfANewerBinaryIsRefusedForMigrationAndGoodForServing(t *testing.T) {
	dsn := testenv.Postgres(t)
	require.NoError(t, postgres.MigrateFrom(t.Context(), dsn, withFuture(t), silent))

	err := postgres.Migrate(t.Context(), dsn, silent)
	require.ErrorIs(t, err, postgres.ErrNewer)
	require.ErrorContains(t, err, "9000")

	pool, err := postgres.Open(t.Context(), dsn)
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, postgres.Check(t.Context(), pool))
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM future`).Scan(&n), "it was left as it is")
}

func TestAFailedMigrationLeavesNothingOfItselfAndRunsAgain(t *testing.T) {
	dsn := testenv.Postgres(t)
	broken := withFuture(t)
	broken["9000_future.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE future (x int);\nSELECT no_such_column;\n")}
	require.ErrorContains(t, postgres.MigrateFrom(t.Context(), dsn, broken, silent), "no_such_column")
	require.NoError(t, postgres.MigrateFrom(t.Context(), dsn, withFuture(t), silent))
}

func TestADSNWithPoolSettingsMigratesToo(t *testing.T) {
	dsn := testenv.EmptyPostgres(t)
	sep := "?"
	if strings.Contains(dsn, "?") {
		sep = "&"
	}
	require.NoError(t, postgres.Migrate(t.Context(), dsn+sep+"pool_max_conns=3", silent))
}

func TestMigrationsOnlyGoUp(t *testing.T) {
	names, err := fs.Glob(postgres.Migrations(), "*")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		text, err := fs.ReadFile(postgres.Migrations(), name)
		require.NoError(t, err)
		require.Contains(t, string(text), "-- +goose Up", name)
		require.NotContains(t, string(text), "+goose Down", name)
		require.Regexp(t, `^\d{4}_[a-z_]+\.sql$`, name)
	}
	v, err := postgres.EmbeddedVersion()
	require.NoError(t, err)
	require.EqualValues(t, len(names), v, "numbers have no gaps")
}

// withFuture is the embedded migrations and one of a later release.
func withFuture(t *testing.T) fstest.MapFS { return with(t, "CREATE TABLE future (x int);") }

// with is the embedded migrations and one of a later release, as SQL.
func with(t *testing.T, future string) fstest.MapFS {
	t.Helper()
	m := fstest.MapFS{"9000_future.sql": {Data: []byte("-- +goose Up\n" + future + "\n")}}
	names, err := fs.Glob(postgres.Migrations(), "*.sql")
	require.NoError(t, err)
	for _, name := range names {
		text, err := fs.ReadFile(postgres.Migrations(), name)
		require.NoError(t, err)
		m[name] = &fstest.MapFile{Data: text}
	}
	return m
}
