package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agentprocess-temporal/server/internal/postgres"
)

// QueueDone queues storing e as done with e.Result, whether its reservation is
// still there or not: what a run has executed is a fact, so it also replaces
// what is pending under the same requestId. An entry that is done already stands
// as it is: the first result is the original one. Of the returned query, a tag
// without affected rows tells that there was such an entry.
//
// A batch that carries a run's record queues that first (records.QueueApply
// locks the run), and several entries in the order of their requestIds, so that
// two batches never wait for each other.
func QueueDone(b *pgx.Batch, e Entry) *pgx.QueuedQuery {
	return b.Queue(`INSERT INTO requests AS r (org, request_id, digest, tool, run_id, attempt, not_after, done, result)
		VALUES ($1, $2, $3, $4, $5, $6, $7, true, $8)
		ON CONFLICT (org, request_id) DO UPDATE SET digest = EXCLUDED.digest, tool = EXCLUDED.tool,
			run_id = EXCLUDED.run_id, attempt = EXCLUDED.attempt, not_after = EXCLUDED.not_after,
			done = true, result = EXCLUDED.result
		WHERE NOT r.done`,
		e.Org, e.RequestID, e.Digest, e.Tool, e.RunID, e.Attempt, e.NotAfter, e.Result)
}

// Overdue returns up to limit entries of all organizations that are pending
// although their attempt ended before the given moment, the longest overdue
// first.
func Overdue(ctx context.Context, pool postgres.DB, before time.Time, limit int) ([]Entry, error) {
	rows, err := pool.Query(ctx, `SELECT `+columns+` FROM requests
		WHERE NOT done AND not_after < $1 ORDER BY not_after LIMIT $2`, before, limit)
	if err != nil {
		return nil, fmt.Errorf("ledger: overdue: %w", err)
	}
	entries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Entry, error) { return scan(row) })
	if err != nil {
		return nil, fmt.Errorf("ledger: overdue: %w", err)
	}
	return entries, nil
}

// Drop removes an entry that the run never executed: only if it is still exactly
// e, pending under the same attempt until the same moment. It reports whether it
// was; if not, someone resent or finished the request meanwhile.
func Drop(ctx context.Context, pool postgres.DB, e Entry) (bool, error) {
	tag, err := pool.Exec(ctx, `DELETE FROM requests
		WHERE org = $1 AND request_id = $2 AND attempt = $3 AND not_after = $4 AND NOT done`,
		e.Org, e.RequestID, e.Attempt, e.NotAfter)
	if err != nil {
		return false, fmt.Errorf("ledger: drop: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// DeleteRun removes every entry of a run, done or pending. It belongs into the
// transaction that removes the run itself (records.Delete).
func DeleteRun(ctx context.Context, tx postgres.DB, org, runID string) error {
	if runID == "" {
		return nil // entries without a run live on their own
	}
	if _, err := tx.Exec(ctx, `DELETE FROM requests WHERE org = $1 AND run_id = $2 AND run_id <> ''`, org, runID); err != nil {
		return fmt.Errorf("ledger: delete run: %w", err)
	}
	return nil
}
