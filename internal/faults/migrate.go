package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"

	"github.com/agentprocess-temporal/server/internal/faults/faultpoint"
	"github.com/agentprocess-temporal/server/internal/postgres"
)

// scratch is a database in which migrations are killed at any moment.
const scratch = "scratch"

// migration is the command that migrates a database.
func (s *stack) migration(ctx context.Context, binary, dsn string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, "migrate", "--postgres", dsn)
	said := s.said.as("migrate")
	cmd.Stdout, cmd.Stderr = said, said
	cmd.Env = append(os.Environ(), faultpoint.DirVariable+"="+s.migrating())
	return cmd
}

// migrating is the folder that arms the points of migrations.
func (s *stack) migrating() string { return filepath.Join(s.dir, "migrating") }

// migrate has migrations killed before one is left to finish: at random moments in
// a database of their own, and each in the middle in the one that is served from.
func (s *stack) migrate(ctx context.Context, seed uint64, binary string, progress func(string, ...any)) error {
	if err := os.MkdirAll(s.migrating(), 0o700); err != nil {
		return err
	}
	if err := s.postgres.server().EnsureDatabase(ctx, scratch); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	for range 3 {
		cmd := s.migration(ctx, binary, s.postgres.server().DSN(scratch))
		if err := cmd.Start(); err != nil {
			return err
		}
		timer := time.AfterFunc(time.Duration(rng.Int64N(int64(120*time.Millisecond))), func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // killed, or done before
		timer.Stop()
	}
	if err := s.migration(ctx, binary, s.postgres.server().DSN(scratch)).Run(); err != nil {
		return fmt.Errorf("migrate, after it was killed at random: %w", err)
	}
	killed, newest, err := s.migrateThroughPoints(ctx, binary, s.dsn(""))
	if err != nil {
		return err
	}
	progress("migrated to %d, after %d migrations were killed in the middle", newest, killed)
	return nil
}

// migrateThroughPoints has each migration killed once when it has done all it does
// and is not committed, then lets the command finish. It returns how many died and
// which migration is the last. A binary without these points just migrates.
func (s *stack) migrateThroughPoints(ctx context.Context, binary, dsn string) (killed int, newest int64, err error) {
	names, err := fs.Glob(postgres.Migrations(), "*.sql")
	if err != nil {
		return 0, 0, err
	}
	done, err := s.schemaVersion(ctx, dsn)
	if err != nil {
		return 0, 0, err
	}
	for _, name := range names {
		number, err := goose.NumericComponent(name)
		if err != nil {
			return 0, 0, err
		}
		if number <= done {
			continue
		}
		armed := filepath.Join(s.migrating(), fmt.Sprint(faultpoint.Migrating, number))
		if err := os.WriteFile(armed, nil, 0o600); err != nil {
			return 0, 0, err
		}
		failed := s.migration(ctx, binary, dsn).Run()
		switch err := os.Remove(armed); {
		case errors.Is(err, fs.ErrNotExist) && failed != nil:
			killed++
		case err != nil:
			return 0, 0, fmt.Errorf("point %d: %w, and migrate: %w", number, err, failed)
		case failed != nil:
			return 0, 0, fmt.Errorf("migrate, after it was killed %d times: %w", killed, failed)
		}
	}
	if err := s.migration(ctx, binary, dsn).Run(); err != nil {
		return 0, 0, fmt.Errorf("migrate, after it was killed %d times: %w", killed, err)
	}
	newest, err = s.schemaVersion(ctx, dsn)
	return killed, newest, err
}

// schemaVersion is the last migration that a database has, 0 if none.
func (s *stack) schemaVersion(ctx context.Context, dsn string) (n int64, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	var migrated bool
	if err := conn.QueryRow(ctx, `SELECT to_regclass('schema_migrations') IS NOT NULL`).Scan(&migrated); err != nil || !migrated {
		return 0, err
	}
	err = conn.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM schema_migrations`).Scan(&n)
	return n, err
}
