package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agentprocess-temporal/server/internal/postgres"
)

const look = `SELECT ` + columns + ` FROM requests WHERE org = $1 AND request_id = $2`

// unflushed has the transaction at hand, and no other, commit without waiting for
// the disk. A crash of Postgres, not of its clients, may then forget it if less
// than a second old. A reservation can be spared so: the run remembers by itself
// which requests it has executed, and the entry of one that is done is stored for
// good, before or after (QueueDone).
const unflushed = `SELECT set_config('synchronous_commit', 'off', true)`

// QueueLook queues the reading of one request. When the batch has run, *into is
// the entry, or nil where the requestId was never used.
func QueueLook(b *pgx.Batch, org, requestID string, into **Entry) {
	b.Queue(look, org, requestID).QueryRow(func(row pgx.Row) error {
		e, err := scanOrNil(row)
		if err != nil {
			return fmt.Errorf("ledger: look: %w", err)
		}
		*into = e
		return nil
	})
}

// Reserve inserts e as pending, in one round trip where nobody else has. Of any number of callers that
// reserve one requestId at once, one gets nil: the request is theirs. The others
// get the entry that stands, whatever its digest; it may be done already.
//
// A reservation does not wait for the disk; see unflushed.
func Reserve(ctx context.Context, pool postgres.DB, e Entry) (existing *Entry, err error) {
	// Between the two statements the row that was in the way may be released, so
	// that neither finds anything. Each round needs another one to be so lucky.
	const rounds = 10
	for range rounds {
		reserved := false
		b := &pgx.Batch{}
		b.Queue(unflushed)
		b.Queue(`INSERT INTO requests (org, request_id, digest, tool, run_id, attempt, not_after, done)
			VALUES ($1, $2, $3, $4, $5, $6, $7, false) ON CONFLICT (org, request_id) DO NOTHING RETURNING true`,
			e.Org, e.RequestID, e.Digest, e.Tool, e.RunID, e.Attempt, e.NotAfter,
		).Query(func(rows pgx.Rows) error {
			reserved = rows.Next()
			return rows.Err()
		})
		if err := pool.SendBatch(ctx, b).Close(); err != nil {
			return nil, fmt.Errorf("ledger: reserve: %w", err)
		}
		if reserved {
			return nil, nil
		}
		b = &pgx.Batch{}
		QueueLook(b, e.Org, e.RequestID, &existing)
		if err := pool.SendBatch(ctx, b).Close(); err != nil {
			return nil, fmt.Errorf("ledger: reserve: %w", err)
		}
		if existing != nil {
			return existing, nil
		}
	}
	return nil, fmt.Errorf("ledger: reserve: the row came and went %d times", rounds)
}

// Extend puts off the end of the attempt that a pending entry is under. It
// reports whether there was such an entry: not when the request is done,
// released, or pending under another attempt. It never brings the end forward:
// an update sent with the later moment may still be on its way.
func Extend(ctx context.Context, pool postgres.DB, org, requestID, attempt string, notAfter time.Time) (bool, error) {
	tag, err := pool.Exec(ctx, `UPDATE requests SET not_after = greatest(not_after, $4)
		WHERE org = $1 AND request_id = $2 AND attempt = $3 AND NOT done`, org, requestID, attempt, notAfter)
	if err != nil {
		return false, fmt.Errorf("ledger: extend: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// Release gives a reservation back after a refusal, so that the requestId is
// free. Only an entry pending under this attempt goes; else nothing happens.
func Release(ctx context.Context, pool postgres.DB, org, requestID, attempt string) error {
	_, err := pool.Exec(ctx, `DELETE FROM requests
		WHERE org = $1 AND request_id = $2 AND attempt = $3 AND NOT done`, org, requestID, attempt)
	if err != nil {
		return fmt.Errorf("ledger: release: %w", err)
	}
	return nil
}
