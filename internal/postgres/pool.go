package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// defaultMaxConns is the size of a pool whose DSN names none. A request
	// holds a connection for about a millisecond, so few serve many.
	defaultMaxConns       = 32
	defaultConnectTimeout = 5 * time.Second
	applicationName       = "agentprocess"
)

// DB is what a query needs: a pool, or a transaction in one.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Open opens a pool and proves that it reaches the database. The DSN is a URL
// or a list of key=value pairs, and may carry pgxpool's own settings
// (pool_max_conns and so on; 32 connections unless it says). Statements are
// prepared once per connection. Moments come back in UTC.
//
// Errors name host, user and database, never the password.
func Open(ctx context.Context, dsn string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, unreadable(err)
	}
	// pgxpool removes its settings from the parameters, so whether the DSN had
	// this one is to be seen only in a plain parse.
	plain, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, unreadable(err)
	}
	if _, said := plain.RuntimeParams["pool_max_conns"]; !said {
		cfg.MaxConns = defaultMaxConns
	}
	setDefaults(cfg.ConnConfig)
	cfg.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{
			Name:  "timestamptz",
			OID:   pgtype.TimestamptzOID,
			Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return pool, nil
}

// unreadable says what is wrong with a DSN, and quotes nothing of it: where one
// is broken, nobody can tell which part of it is the password.
func unreadable(err error) error {
	var parse *pgconn.ParseConfigError
	if !errors.As(err, &parse) {
		return fmt.Errorf("postgres: the DSN cannot be used: %w", err)
	}
	reason := err.Error()
	if i := strings.LastIndex(reason, "`: "); i >= 0 {
		reason = reason[i+len("`: "):]
	}
	reason, _, _ = strings.Cut(reason, " (") // the cause quotes what it choked on
	return errors.New("postgres: the DSN cannot be parsed: " + reason)
}

func setDefaults(cfg *pgx.ConnConfig) {
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = defaultConnectTimeout
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = applicationName
	}
}
