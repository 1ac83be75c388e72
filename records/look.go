package records

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// QueueLook queues the reading of one run, without its work. When the batch has
// run, *into is the record, or nil where there is no such run, and *now is
// Postgres' clock at the read, in either case: never before the record's last
// change was stored.
func QueueLook(b *pgx.Batch, org, runID string, into **Row, now *time.Time) {
	b.Queue(`SELECT `+rowColumns+` FROM runs r WHERE org = $1 AND run_id = $2`, org, runID).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, scanRow)
		if err != nil {
			return fmt.Errorf("records: look: %w", err)
		}
		*into = nil
		if len(found) == 1 {
			*into = &found[0]
		}
		return nil
	})
	b.Queue(`SELECT clock_timestamp()`).QueryRow(func(row pgx.Row) error {
		if err := row.Scan(now); err != nil {
			return fmt.Errorf("records: look: %w", err)
		}
		return nil
	})
}
