package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agentprocess-temporal/server/internal/postgres"
)

// Version is a published process. Once stored, it never changes; the database
// itself refuses to.
type Version struct {
	Org, Name string
	// Number counts from 1 within (org, name).
	Number int
	// Hash is the content hash of the source (spec §6), lower-case hex.
	Hash        string
	Description string
	// Source is the PROCESS.md, byte for byte; Document the JSON of the parsed
	// process, as runs carry it.
	Source, Document []byte
	// Bindings map each role of the process to a group id.
	Bindings    map[string]string
	PublishedBy string
	// PublishedAt is by Postgres' clock; ignored in what is passed in.
	PublishedAt time.Time
}

// Publish stores v under the next number of its process and returns it as
// stored, with created true. When the newest version has the same hash and the
// same bindings there is nothing to publish: it is returned, with created false.
// v.Number and v.PublishedAt are not used. Concurrent calls for one process take
// turns.
func Publish(ctx context.Context, pool postgres.DB, v Version) (stored Version, created bool, err error) {
	bindings, err := encodeBindings(v.Bindings)
	if err != nil {
		return Version{}, false, fmt.Errorf("catalog: publish: %w", err)
	}
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		// Of (org, name), also where it has no row yet. Each statement after it
		// sees what the holder before committed.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1 || E'\n' || $2, 7262094151))`, v.Org, v.Name); err != nil {
			return err
		}
		newest, err := get(ctx, tx, v.Org, v.Name, 0)
		if err != nil {
			return err
		}
		if newest != nil {
			same, err := encodeBindings(newest.Bindings)
			if err != nil {
				return err
			}
			if newest.Hash == v.Hash && bytes.Equal(same, bindings) {
				stored = *newest
				return nil
			}
			v.Number = newest.Number + 1
		} else {
			v.Number = 1
		}
		created = true
		stored, err = scanVersion(tx.QueryRow(ctx, `INSERT INTO versions
				(org, name, number, hash, description, source, document, bindings, published_by)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING `+versionColumns,
			v.Org, v.Name, v.Number, v.Hash, []byte(v.Description), nonNil(v.Source), nonNil(v.Document), bindings, v.PublishedBy))
		return err
	})
	if err != nil {
		return Version{}, false, fmt.Errorf("catalog: publish: %w", err)
	}
	return stored, created, nil
}

const versionColumns = `org, name, number, hash, description, source, document, bindings, published_by, published_at`

// Get returns one version of a process, the newest for number 0; nil where there
// is none.
func Get(ctx context.Context, pool postgres.DB, org, name string, number int) (*Version, error) {
	v, err := get(ctx, pool, org, name, number)
	if err != nil {
		return nil, fmt.Errorf("catalog: get: %w", err)
	}
	return v, nil
}

func get(ctx context.Context, db postgres.DB, org, name string, number int) (*Version, error) {
	query, args := `SELECT `+versionColumns+` FROM versions WHERE org = $1 AND name = $2`, []any{org, name}
	if number == 0 {
		query += ` ORDER BY number DESC LIMIT 1`
	} else {
		// Compared as bigint, so that a number no column could hold finds nothing.
		query, args = query+` AND number = $3::bigint`, append(args, number)
	}
	v, err := scanVersion(db.QueryRow(ctx, query, args...))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// List returns the newest version of up to limit processes, ordered by name and
// starting after afterName ("" for the first page).
func List(ctx context.Context, pool postgres.DB, org, afterName string, limit int) ([]Version, error) {
	rows, err := pool.Query(ctx, `SELECT DISTINCT ON (name) `+versionColumns+` FROM versions
		WHERE org = $1 AND name > $2 ORDER BY name, number DESC LIMIT $3`, org, afterName, limit)
	if err != nil {
		return nil, fmt.Errorf("catalog: list: %w", err)
	}
	versions, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Version, error) { return scanVersion(row) })
	if err != nil {
		return nil, fmt.Errorf("catalog: list: %w", err)
	}
	return versions, nil
}

func scanVersion(row pgx.Row) (Version, error) {
	var v Version
	var description, bindings []byte
	if err := row.Scan(&v.Org, &v.Name, &v.Number, &v.Hash, &description, &v.Source, &v.Document, &bindings,
		&v.PublishedBy, &v.PublishedAt); err != nil {
		return Version{}, err
	}
	v.Description = string(description)
	var err error
	v.Bindings, err = decodeBindings(bindings)
	return v, err
}
