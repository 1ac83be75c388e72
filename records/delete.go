package records

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/ledger"
)

// Why [Delete] refuses.
var (
	ErrNotFound = errors.New("there is no such run")
	ErrNotEnded = errors.New("the run is not over")
)

// Delete removes everything stored of a run that is over: its record, its work,
// its requests, and the uploads that it cites and no other run does. All of it
// or nothing. It wraps [ErrNotFound] or [ErrNotEnded] where it refuses.
//
// An upload that an unstored write is about to cite for another run may go too;
// that run's own record keeps the hash.
func Delete(ctx context.Context, pool postgres.DB, org, runID string) error {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var state string
		var files []string
		// Locked as applies lock it, so that none is under way.
		err := tx.QueryRow(ctx, `SELECT state, files FROM runs WHERE org = $1 AND run_id = $2 FOR UPDATE`,
			org, runID).Scan(&state, &files)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		if state != stateEnded && state != stateCancelled {
			return ErrNotEnded
		}
		if _, err := tx.Exec(ctx, `DELETE FROM work WHERE org = $1 AND run_id = $2`, org, runID); err != nil {
			return err
		}
		if err := ledger.DeleteRun(ctx, tx, org, runID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM runs WHERE org = $1 AND run_id = $2`, org, runID); err != nil {
			return err
		}
		if len(files) == 0 {
			return nil
		}
		// Locked in one order, so that two deletions citing the same files take
		// turns; the second then sees that the first has gone.
		if _, err := tx.Exec(ctx, `SELECT FROM files WHERE org = $1 AND id = ANY($2) ORDER BY id FOR UPDATE`, org, files); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM files f WHERE f.org = $1 AND f.id = ANY($2) AND NOT EXISTS (
				SELECT FROM runs r WHERE r.org = $1 AND r.files @> ARRAY[f.id] AND r.files <> '{}')`, org, files)
		return err
	})
	if err != nil {
		return fmt.Errorf("records: delete %s: %w", runID, err)
	}
	return nil
}
