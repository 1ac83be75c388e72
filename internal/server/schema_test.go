package server_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
)

func TestAServerSaysWhichSchemaItCannotServeFrom(t *testing.T) {
	s := Start(t)
	pool := s.Pool()
	for name, c := range map[string]struct {
		change, back string
		refused      error
		says         string
	}{
		"older": {
			`UPDATE schema_migrations SET is_applied = false WHERE version_id = (SELECT max(version_id) FROM schema_migrations)`,
			`UPDATE schema_migrations SET is_applied = true`,
			postgres.ErrOlder, "run `agentprocess migrate`",
		},
		"too new": {
			`WITH m AS (INSERT INTO schema_migrations (version_id, is_applied) VALUES (9000, true)) UPDATE schema_floor SET version = 9000`,
			`WITH m AS (DELETE FROM schema_migrations WHERE version_id = 9000) UPDATE schema_floor SET version = 1`,
			postgres.ErrNewer, "run a newer release",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pool.Exec(t.Context(), c.change)
			require.NoError(t, err)
			status, text := ready(t, s.URL)
			require.Equal(t, http.StatusServiceUnavailable, status)
			require.Contains(t, text, c.says)
			o := s.Options
			o.Addr = "127.0.0.1:0"
			_, err = server.New(t.Context(), o)
			require.ErrorIs(t, err, c.refused, "at start-up")
			require.ErrorContains(t, err, c.says)

			_, err = pool.Exec(t.Context(), c.back)
			require.NoError(t, err)
			status, _ = ready(t, s.URL)
			require.Equal(t, http.StatusOK, status)
		})
	}
}

func ready(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url + "/readyz") //nolint:noctx // on loopback, in a test
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(text)
}
