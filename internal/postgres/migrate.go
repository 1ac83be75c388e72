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
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
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
// one this binary brings: an older binary must not run against it unasked.
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
	// Parsed as a pool's, so that a DSN with a pool's settings is fine here too.
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	setDefaults(cfg.ConnConfig)
	db := stdlib.OpenDB(*cfg.ConnConfig)
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

	current, err := version(ctx, sqlRow{db})
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if current > target {
		return fmt.Errorf("migrate: %w (it is at %d, the binary knows up to %d): use the newer binary", ErrNewer, current, target)
	}
	applied, err := provider.Up(ctx)
	for _, m := range applied {
		log.InfoContext(ctx, "applied a migration", "migration", m.Source.Path, "took", m.Duration)
	}
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if len(applied) == 0 {
		log.DebugContext(ctx, "the schema is up to date", "version", current)
	}
	return nil
}

// Check tells whether this binary can work with the database: its schema has at
// least the embedded version. Older, it wraps [ErrOlder] and names the command
// to run. Newer is fine, so that an upgrade can migrate while old replicas still
// serve: a migration never takes away what the release before it used.
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
	return nil
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
