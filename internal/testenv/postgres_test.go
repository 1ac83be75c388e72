package testenv_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestEachTestGetsADatabaseOfItsOwnMigratedAndEmpty(t *testing.T) {
	insert := `INSERT INTO drafts (org, name, source, bindings, updated_by) VALUES ('o', 'n', '', '', '')`
	one, other := testenv.Pool(t), testenv.Pool(t)
	require.NoError(t, postgres.Check(t.Context(), one))
	_, err := one.Exec(t.Context(), insert)
	require.NoError(t, err)

	var n int
	require.NoError(t, other.QueryRow(t.Context(), `SELECT count(*) FROM drafts`).Scan(&n))
	require.Zero(t, n)
	_, err = other.Exec(t.Context(), insert)
	require.NoError(t, err)
}

func TestADatabaseIsDroppedWhenItsTestEnds(t *testing.T) {
	var name string
	t.Run("uses one", func(t *testing.T) {
		pool := testenv.Pool(t)
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT current_database()`).Scan(&name))
	})
	var exists bool
	require.NoError(t, testenv.Pool(t).QueryRow(t.Context(),
		`SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&exists))
	require.False(t, exists)
}
