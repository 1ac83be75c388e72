package postgres_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/postgres"
)

func TestNoErrorHoldsThePasswordOfADSNHoweverBrokenItIs(t *testing.T) {
	const password = "hunter2-Of-Postgres"
	for _, dsn := range []string{
		"postgres://u:" + password + "@127.0.0.1:1/db",
		"postgres://u:" + password + "@127.0.0.1:1/db?sslmode=nonsense",
		"postgres://u:" + password + "@127.0.0.1:port/db",
		"postgres://u:" + password + "@127.0.0.1:1/db?pool_max_conns=x",
		"postgres://u:" + password + "%zz@127.0.0.1:1/db",
		"postgres://u:" + password + "#x@127.0.0.1:1/db",
		"postgres://u:" + password + "/x@127.0.0.1:1/db",
		"postgres://u:" + password + "@x@127.0.0.1:1/db",
		"postgres://u:" + password + " x@127.0.0.1:1/db",
		"postgres://u@127.0.0.1:1/db?password=" + password,
		"postgres://u@127.0.0.1:1/db?connect_timeout=x&password=" + password,
		"postgres://u@127.0.0.1:1/db?sslpassword=" + password + "&sslmode=nonsense",
		"postgresql://u:" + password + "@[::1/db",
		"host=127.0.0.1 port=1 user=u password=" + password,
		"host=127.0.0.1 port=x user=u password=" + password,
		"host=127.0.0.1 port=x user=u password='" + password + "'",
		"host=127.0.0.1 port=x user=u password='x " + password + "'",
		"host=127.0.0.1 port=x user=u password = " + password,
		"host=127.0.0.1 port=1 user=u PASSWORD=" + password + " x",
		"password=" + password + " host",
		"password='" + password,
		"u:" + password + "@127.0.0.1:1/db",
		password,
	} {
		_, err := postgres.Open(t.Context(), dsn)
		require.Error(t, err, dsn)
		require.NotContains(t, err.Error(), password)
		err = postgres.Migrate(t.Context(), dsn, slog.New(slog.DiscardHandler))
		require.Error(t, err, dsn)
		require.NotContains(t, err.Error(), password)
	}
}
