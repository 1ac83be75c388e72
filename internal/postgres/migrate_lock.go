package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/agentprocess-temporal/server/internal/faults/faultpoint"
)

const (
	// tableLock is how long a migration waits for a table that a serving version
	// uses. All that comes after it waits behind it, so this is also how long a
	// migration can hold callers up that way.
	tableLock = "2s"
	// silence ends a migration whose process hangs, and the locks it holds.
	silence = "10s"
	// tableTries are how often it tries, and letThrough how long it leaves the
	// table to others in between.
	tableTries = 40
	letThrough = time.Second
)

// openToMigrate opens a database as migrations need it. A lock_timeout that the
// DSN sets stays.
func openToMigrate(dsn string) (*sql.DB, error) {
	// Parsed as a pool's, so that a DSN with a pool's settings is fine here too.
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, unreadable(err)
	}
	setDefaults(cfg.ConnConfig)
	cfg.ConnConfig.Tracer = midway{}
	settings := "SET idle_in_transaction_session_timeout = '" + silence + "'"
	if _, said := cfg.ConnConfig.RuntimeParams["lock_timeout"]; !said {
		settings += "; SET lock_timeout = '" + tableLock + "'"
	}
	return stdlib.OpenDB(*cfg.ConnConfig, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, settings)
		return err
	})), nil
}

// up applies what is pending. A migration that does not get a table in time is
// rolled back, and tried again when those who were behind it have been served.
func up(ctx context.Context, provider *goose.Provider, log *slog.Logger) error {
	for try := 1; ; try++ {
		applied, err := provider.Up(ctx)
		var partly *goose.PartialError
		if errors.As(err, &partly) {
			applied = partly.Applied
		}
		for _, m := range applied {
			log.InfoContext(ctx, "applied a migration", "migration", filepath.Base(m.Source.Path), "took", m.Duration)
		}
		const lockNotAvailable = "55P03"
		var failed *pgconn.PgError
		if err == nil || !errors.As(err, &failed) || failed.Code != lockNotAvailable {
			return err
		}
		if try == tableTries {
			return fmt.Errorf("somebody holds a table that a migration changes; see pg_locks: %w", err)
		}
		log.WarnContext(ctx, "somebody holds a table that a migration changes; trying again", "try", try)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(letThrough):
		}
	}
}

// midway marks the moment at which a migration has done all it does, and is not
// yet recorded nor committed.
type midway struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (midway) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.HasPrefix(q.SQL, "INSERT INTO "+versionTable) && len(q.Args) > 0 {
		faultpoint.Here(fmt.Sprint(faultpoint.Migrating, q.Args[0]))
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (midway) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
