package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var embedded embed.FS

const (
	// versionTable is where goose records what was applied.
	versionTable = "schema_migrations"
	// lockID is the advisory lock that migrations hold: this program's own,
	// since goose's default belongs to whoever else uses goose there.
	lockID = 7_262_094_151_316_305_457
	// lockWaitSeconds is how long a replica waits while another migrates.
	lockWaitSeconds = 600
)

// ErrNewer is what [Migrate] wraps when the database's schema is newer than the
// one this binary brings, and [Check] when it is so new that the binary cannot
// serve from it.
var ErrNewer = errors.New("the database's schema is newer than this binary")

// ErrOlder is what [Check] wraps when the schema lacks migrations.
var ErrOlder = errors.New("the database's schema is older than this binary needs")

// Migrations returns the embedded migrations, one NNNN_name.sql each.
func Migrations() fs.FS {
	sub, err := fs.Sub(embedded, "migrations")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return sub
}

// Migrate brings the schema up to the embedded version. Replicas may call it at
// once: one migrates under an advisory lock, the others wait for it up to ten
// minutes. A schema newer than the binary is refused with [ErrNewer] and left
// alone; there is no way down.
func Migrate(ctx context.Context, dsn string, log *slog.Logger) error {
	return migrate(ctx, dsn, Migrations(), log)
}

func migrate(ctx context.Context, dsn string, migrations fs.FS, log *slog.Logger) (err error) {
	db, err := openToMigrate(dsn)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	locker, err := lock.NewPostgresSessionLocker(
		lock.WithLockID(lockID),
		lock.WithLockTimeout(1, lockWaitSeconds),
	)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations,
		goose.WithTableName(versionTable),
		goose.WithSessionLocker(locker),
		goose.WithDisableGlobalRegistry(true),
	)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	sources := provider.ListSources()
	target := sources[len(sources)-1].Version

	if err := refuseNewer(ctx, db, target); err != nil {
		return err
	}
	if err := up(ctx, provider, log); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	// A newer binary may have been at it while this one waited for the lock.
	return refuseNewer(ctx, db, target)
}

func refuseNewer(ctx context.Context, db *sql.DB, target int64) error {
	current, err := version(ctx, sqlRow{db})
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if current > target {
		return fmt.Errorf("migrate: %w (it is at %d, the binary knows up to %d): use the newer binary", ErrNewer, current, target)
	}
	return nil
}

// Check tells whether this binary can work with the database: its schema has at
// least the embedded version. Older, it wraps [ErrOlder] and names the command
// to run. Newer is fine, so that an upgrade can migrate while old replicas still
// serve, unless a migration took away what this binary uses, and raised the floor:
// then it wraps [ErrNewer].
func Check(ctx context.Context, pool DB) error {
	target, err := embeddedVersion()
	if err != nil {
		return fmt.Errorf("schema check: %w", err)
	}
	current, err := version(ctx, pool)
	if err != nil {
		return fmt.Errorf("schema check: %w", err)
	}
	if current < target {
		return fmt.Errorf("%w (it is at %d, %d is needed): run `agentprocess migrate`", ErrOlder, current, target)
	}
	var floor int64
	if err := pool.QueryRow(ctx, `SELECT version FROM schema_floor`).Scan(&floor); err != nil {
		return fmt.Errorf("schema check: %w", err)
	}
	if target < floor {
		return fmt.Errorf("%w can use (it is at %d and serves binaries that know %d, this one knows up to %d): run a newer release",
			ErrNewer, current, floor, target)
	}
	return nil
}

// Newer tells whether the schema has migrations that this binary does not know.
func Newer(ctx context.Context, pool DB) (bool, error) {
	target, err := embeddedVersion()
	if err != nil {
		return false, err
	}
	current, err := version(ctx, pool)
	return current > target, err
}

func embeddedVersion() (int64, error) {
	names, err := fs.Glob(Migrations(), "*.sql")
	if err != nil {
		return 0, err
	}
	var newest int64
	for _, name := range names {
		v, err := goose.NumericComponent(name)
		if err != nil {
			return 0, err
		}
		newest = max(newest, v)
	}
	return newest, nil
}

type rowQuerier interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// sqlRow makes a database/sql handle answer as pgx does.
type sqlRow struct{ db *sql.DB }

func (s sqlRow) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return s.db.QueryRowContext(ctx, query, args...)
}

// version is the schema's version, 0 for an empty database.
func version(ctx context.Context, db rowQuerier) (int64, error) {
	const undefinedTable = "42P01"
	var v int64
	err := db.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM `+versionTable+` WHERE is_applied`).Scan(&v)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == undefinedTable {
		return 0, nil
	}
	return v, err
}
