package testenv

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/devstack"
	"github.com/agentprocess-temporal/server/internal/postgres"
)

// clusterVariable names the cluster to use: a DSN whose role may create
// databases. Unset, each package's tests start one of their own.
const clusterVariable = "AGENTPROCESS_TEST_POSTGRES"

// templatePrefix begins the name of the migrated database that tests get copies
// of. The rest tells the migrations it holds, so it can stay for the next run.
const templatePrefix = "agentprocess_template_"

// setUpTime bounds everything that a test waits for here.
const setUpTime = 2 * time.Minute

// cluster is the PostgreSQL of this test process, with its template.
type cluster struct {
	admin    string // DSN of a database to create others from
	template string
}

// theCluster is made ready by the first test that needs it.
var theCluster = sync.OnceValues(func() (*cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), setUpTime)
	defer cancel()
	return openCluster(ctx)
})

// Postgres returns the DSN of a new database with the whole schema and no rows.
// It is the test's own, and dropped when the test ends.
func Postgres(t testing.TB) string {
	t.Helper()
	c, err := theCluster()
	require.NoError(t, err, "no PostgreSQL for tests")
	return c.database(t, c.template)
}

// EmptyPostgres is Postgres without the schema.
func EmptyPostgres(t testing.TB) string {
	t.Helper()
	c, err := theCluster()
	require.NoError(t, err, "no PostgreSQL for tests")
	return c.database(t, "template1")
}

// Pool opens a pool on a new database as of [Postgres], closed when the test ends.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), Postgres(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func (c *cluster) database(t testing.TB, template string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setUpTime)
	defer cancel()
	name := "test_" + strings.ToLower(rand.Text())
	require.NoError(t, c.exec(ctx, fmt.Sprintf(`CREATE DATABASE %s TEMPLATE %s`, name, template)))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), setUpTime)
		defer cancel()
		require.NoError(t, c.exec(ctx, fmt.Sprintf(`DROP DATABASE IF EXISTS %s WITH (FORCE)`, name)))
	})
	dsn, err := withDatabase(c.admin, name)
	require.NoError(t, err)
	return dsn
}

func openCluster(ctx context.Context) (*cluster, error) {
	digest, err := migrationsDigest()
	if err != nil {
		return nil, err
	}
	c := &cluster{admin: os.Getenv(clusterVariable), template: templatePrefix + digest}
	if c.admin == "" {
		if c.admin, err = startCluster(ctx); err != nil {
			return nil, fmt.Errorf("start a PostgreSQL (or set %s): %w", clusterVariable, err)
		}
	}
	if err := c.makeTemplate(ctx); err != nil {
		return nil, fmt.Errorf("make the template database: %w", err)
	}
	return c, nil
}

// startCluster starts a PostgreSQL that ends with this process.
func startCluster(ctx context.Context) (admin string, err error) {
	dir, err := os.MkdirTemp("", "agentprocess-test-postgres-")
	if err != nil {
		return "", err
	}
	// PostgreSQL does not run as root: its user must get through.
	if err := os.Chmod(dir, 0o711); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	server, err := devstack.StartPostgres(ctx, devstack.PostgresOptions{Dir: dir, Fast: true})
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	whenDone(func() {
		// A left-over temporary folder fails no test.
		_ = server.Remove()
		_ = os.RemoveAll(dir)
	})
	return server.DSN("postgres"), nil
}

// makeTemplate makes the template unless it is there. It gets its name when it
// is whole, so one that exists is. Other test processes may be at it too.
func (c *cluster) makeTemplate(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.admin)
	if err != nil {
		return err
	}
	defer hangUp(ctx, conn) // which releases the lock
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtextextended($1, 0))`, templatePrefix); err != nil {
		return err
	}
	var exists bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, c.template).Scan(&exists); err != nil || exists {
		return err
	}
	draft := c.template + "_draft"
	if _, err := conn.Exec(ctx, `DROP DATABASE IF EXISTS `+draft+` WITH (FORCE)`); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `CREATE DATABASE `+draft); err != nil {
		return err
	}
	dsn, err := withDatabase(c.admin, draft)
	if err != nil {
		return err
	}
	if err := postgres.Migrate(ctx, dsn, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, fmt.Sprintf(`ALTER DATABASE %s RENAME TO %s`, draft, c.template))
	return err
}

func (c *cluster) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, c.admin)
	if err != nil {
		return err
	}
	defer hangUp(ctx, conn)
	_, err = conn.Exec(ctx, sql)
	return err
}

// hangUp closes a connection whatever became of ctx; one that does not close
// orderly is closed all the same.
func hangUp(ctx context.Context, conn *pgx.Conn) {
	_ = conn.Close(context.WithoutCancel(ctx))
}

// withDatabase is the same DSN for another database.
func withDatabase(dsn, name string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + name, nil // of two, the last counts
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

func migrationsDigest() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(postgres.Migrations(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(postgres.Migrations(), path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:8]), err
}
