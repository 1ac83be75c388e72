package records

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/agentprocess-temporal/server/internal/postgres"
)

// Stored is what is stored of a run: its record, and the keys of its work.
type Stored struct {
	Seq    int64
	State  string
	Record []byte
	// WorkKeys are in ascending order.
	WorkKeys []string
}

// Whole reads what is stored of a run; nil where nothing is.
func Whole(ctx context.Context, db postgres.DB, org, runID string) (*Stored, error) {
	var s Stored
	err := db.QueryRow(ctx, `SELECT seq, state, record, ARRAY(SELECT key::text FROM work WHERE org = $1 AND run_id = $2 ORDER BY key COLLATE "C")
		FROM runs WHERE org = $1 AND run_id = $2`, org, runID).Scan(&s.Seq, &s.State, &s.Record, &s.WorkKeys)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("records: whole: %w", err)
	}
	return &s, nil
}

// Outdate makes a stored record older than the one at its number, so that the next
// apply of that one replaces it. It does nothing where another record is stored.
func Outdate(ctx context.Context, db postgres.DB, org, runID string, seq int64) error {
	if _, err := db.Exec(ctx, `UPDATE runs SET seq = seq - 1 WHERE org = $1 AND run_id = $2 AND seq = $3`, org, runID, seq); err != nil {
		return fmt.Errorf("records: outdate: %w", err)
	}
	return nil
}

// Over returns those of the given runs that have ended or were cancelled.
func Over(ctx context.Context, db postgres.DB, runs []ActiveRun) ([]ActiveRun, error) {
	orgs, ids := make([]string, len(runs)), make([]string, len(runs))
	for i, r := range runs {
		orgs[i], ids[i] = r.Org, r.RunID
	}
	rows, err := db.Query(ctx, `SELECT r.org, r.run_id, r.seq FROM runs r JOIN unnest($1::text[], $2::text[]) u (org, run_id) USING (org, run_id)
		WHERE r.state IN ('ended', 'cancelled')`, orgs, ids)
	if err != nil {
		return nil, fmt.Errorf("records: over: %w", err)
	}
	over, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r ActiveRun, err error) {
		return r, row.Scan(&r.Org, &r.RunID, &r.Seq)
	})
	if err != nil {
		return nil, fmt.Errorf("records: over: %w", err)
	}
	return over, nil
}
