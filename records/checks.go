package records

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/agentprocess-temporal/server/internal/postgres"
)

// CheckedRuns visits the runs of a process whose record remembers verdicts of
// checks, a page at a time, in the order of their ids.
func CheckedRuns(ctx context.Context, pool postgres.DB, org, process string, visit func(Row) error) error {
	const page = 100
	for after := ""; ; {
		rows, err := pool.Query(ctx, `SELECT `+rowColumns+` FROM runs r
			WHERE org = $1 AND process = $2 AND run_id > $3 AND position('"judged":'::bytea IN record) > 0
			ORDER BY run_id LIMIT $4`, pgx.QueryExecModeCacheDescribe, org, process, after, page)
		if err != nil {
			return fmt.Errorf("records: checked runs: %w", err)
		}
		found, err := pgx.CollectRows(rows, scanRow)
		if err != nil {
			return fmt.Errorf("records: checked runs: %w", err)
		}
		for _, row := range found {
			if err := visit(row); err != nil {
				return err
			}
			after = row.RunID
		}
		if len(found) < page {
			return nil
		}
	}
}
