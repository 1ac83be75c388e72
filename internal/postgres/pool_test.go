package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/internal/testenv"
)

func TestAPoolHas32ConnectionsUnlessTheDSNSays(t *testing.T) {
	dsn := testenv.Postgres(t)
	pool, err := postgres.Open(t.Context(), dsn)
	require.NoError(t, err)
	defer pool.Close()
	require.EqualValues(t, 32, pool.Config().MaxConns)

	sep := "?"
	if strings.Contains(dsn, "?") {
		sep = "&"
	}
	small, err := postgres.Open(t.Context(), dsn+sep+"pool_max_conns=4&application_name=mine")
	require.NoError(t, err)
	defer small.Close()
	require.EqualValues(t, 4, small.Config().MaxConns)
	var name string
	require.NoError(t, small.QueryRow(t.Context(), `SHOW application_name`).Scan(&name))
	require.Equal(t, "mine", name)
}

func TestMomentsComeBackInUTC(t *testing.T) {
	pool := testenv.Pool(t)
	in := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 3600))
	var out time.Time
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT $1::timestamptz`, in).Scan(&out))
	require.Equal(t, in.UTC(), out)
}

func TestErrorsNeverShowThePassword(t *testing.T) {
	for name, dsn := range map[string]string{
		"nobody listens": "postgres://me:hunter2@127.0.0.1:1/db",
		"not a DSN":      "postgres://me:hunter2@127.0.0.1:port/db",
		"bad setting":    "postgres://me:hunter2@127.0.0.1:1/db?pool_max_conns=many",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := postgres.Open(t.Context(), dsn)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "hunter2")
			err = postgres.Migrate(t.Context(), dsn, silent)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestValidTextIsWhatATextColumnTakes(t *testing.T) {
	pool := testenv.Pool(t)
	for name, c := range map[string]struct {
		text  string
		valid bool
	}{
		"empty":               {"", true},
		"ascii":               {"r_1", true},
		"any script":          {"Дело-事-🗂", true},
		"control characters":  {"\x01\t\n\x7f", true},
		"noncharacter":        {"\uffff", true},
		"NUL":                 {"a\x00b", false},
		"not UTF-8":           {"a\xffb", false},
		"truncated UTF-8":     {"\xe4\xba", false},
		"encoded surrogate":   {"\xed\xa0\x80", false},
		"overlong NUL":        {"\xc0\x80", false},
		"beyond Unicode":      {"\xf4\x90\x80\x80", false},
		"as long as it can":   {strings.Repeat("é", postgres.MaxText/2), true},
		"longer than it says": {strings.Repeat("a", postgres.MaxText+1), false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.valid, postgres.ValidText(c.text))
			if len(c.text) > postgres.MaxText {
				return
			}
			var back string
			err := pool.QueryRow(t.Context(), `SELECT $1::text`, c.text).Scan(&back)
			if !c.valid {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.text, back)
		})
	}
}
