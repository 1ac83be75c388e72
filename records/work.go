package records

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/agentprocess-temporal/server/internal/postgres"
)

// Cursor is a place in a list of work: behind the entry with these values. It is
// a place in the order, not a row: the entry may be gone, and new ones before it
// are not shown again.
type Cursor struct {
	Available  time.Time
	RunID, Key string
}

// WorkQuery asks for the steps an agent can claim.
type WorkQuery struct {
	Org string
	// Process, unless empty, is the only process to list.
	Process string
	// Processes, unless nil, are the processes the caller may see.
	Processes []string
	// After is the end of the page before, nil for the first page.
	After *Cursor
	Limit int
}

// Found is an entry of the work index, with what is needed of its run.
type Found struct {
	RunID, Key string
	StepID     string
	Available  time.Time
	Process    string
	Version    int
	// Seq and Record are the run's, of the same moment as the entry.
	Seq    int64
	Record []byte
	// Now is Postgres' clock at the read, the same for all of one answer.
	Now time.Time
}

// Cursor is the place behind this entry.
func (f Found) Cursor() Cursor { return Cursor{f.Available, f.RunID, f.Key} }

// The shape of a list: for each partition (nothing, a process, an assignee) the
// first entries in index order, then the first of all those. So a page costs
// what it shows, however many rows there are. The moment is read once and by a
// subquery, since an index cannot be searched for a function that changes while
// it is called.
const (
	workHead = `WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now), page AS MATERIALIZED (`
	workScan = `SELECT run_id, key, step_id, available FROM work
		WHERE org = $1 AND available <= (SELECT now FROM clock) AND (available, run_id, key) > ($2, $3, $4)`
	workOrder = ` ORDER BY available, run_id, key LIMIT $5`
	workTail  = `)
		SELECT p.run_id, p.key, p.step_id, p.available, r.process, r.version, r.seq, r.record, (SELECT now FROM clock)
		FROM page p JOIN runs r ON r.org = $1 AND r.run_id = p.run_id
		ORDER BY p.available, p.run_id, p.key`

	agentWork = workHead + workScan + ` AND agent` + workOrder + workTail

	agentWorkOf = workHead + `SELECT w.* FROM unnest($6::text[]) AS of (process), LATERAL (` +
		workScan + ` AND agent AND work.process = of.process` + workOrder + `) w` + workOrder + workTail

	personWork = workHead + `SELECT w.* FROM unnest($6::bytea[]) AS of (assignee), LATERAL (` +
		workScan + ` AND NOT agent AND work.assignee = of.assignee` + workOrder + `) w` + workOrder + workTail

	personWorkOf = workHead + `SELECT w.* FROM unnest($6::bytea[]) AS of (assignee), LATERAL (` +
		workScan + ` AND NOT agent AND work.assignee = of.assignee AND work.process = $7` + workOrder + `) w` + workOrder + workTail
)

// AgentWork lists the steps that agents can claim now, the longest available
// first (spec tools, get_work).
func AgentWork(ctx context.Context, pool postgres.DB, q WorkQuery) ([]Found, error) {
	processes, all := q.processes()
	switch {
	case all:
		return listWork(ctx, pool, agentWork, q.Org, q.After, q.Limit)
	case len(processes) == 0:
		return nil, nil
	}
	return listWork(ctx, pool, agentWorkOf, q.Org, q.After, q.Limit, processes)
}

// processes are the processes to list, each once; or all of them.
func (q WorkQuery) processes() (processes []string, all bool) {
	if q.Process == "" {
		return distinct(q.Processes), q.Processes == nil
	}
	if q.Processes != nil && !slices.Contains(q.Processes, q.Process) {
		return nil, false
	}
	return []string{q.Process}, false
}

// PersonWork lists the work items assigned to any of the assignees, the oldest
// first. An empty process stands for all.
func PersonWork(ctx context.Context, pool postgres.DB, org string, assignees []string, process string, after *Cursor, limit int) ([]Found, error) {
	var encoded [][]byte
	for _, a := range distinct(assignees) {
		encoded = append(encoded, []byte(a))
	}
	switch {
	case len(encoded) == 0:
		return nil, nil
	case process == "":
		return listWork(ctx, pool, personWork, org, after, limit, encoded)
	}
	return listWork(ctx, pool, personWorkOf, org, after, limit, encoded, process)
}

func listWork(ctx context.Context, db postgres.DB, query, org string, after *Cursor, limit int, more ...any) ([]Found, error) {
	rows, err := db.Query(ctx, query, workArgs(org, after, limit, more...)...)
	if err != nil {
		return nil, fmt.Errorf("records: list work: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Found, error) {
		var f Found
		err := row.Scan(&f.RunID, &f.Key, &f.StepID, &f.Available, &f.Process, &f.Version, &f.Seq, &f.Record, &f.Now)
		return f, err
	})
	if err != nil {
		return nil, fmt.Errorf("records: list work: %w", err)
	}
	return found, nil
}

// workArgs leads with the mode in which the server plans for these very values.
// A plan for any value would take a page for a tenth of the table, and read the
// table.
func workArgs(org string, after *Cursor, limit int, more ...any) []any {
	from := pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	var runID, key string
	if after != nil {
		from = pgtype.Timestamptz{Time: after.Available, Valid: true}
		runID, key = after.RunID, after.Key
	}
	return append([]any{pgx.QueryExecModeCacheDescribe, org, from, runID, key, limit}, more...)
}

func distinct(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return slices.Compact(s)
}
