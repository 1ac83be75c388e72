package records

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// The states in which a run is over (spec §3.5).
const (
	stateEnded     = "ended"
	stateCancelled = "cancelled"
)

// Row is the record of one run.
type Row struct {
	Org, RunID string
	// Seq counts the changes of the run; of two records the higher is newer.
	Seq     int64
	Process string
	Version int
	State   string
	// Outcome is nil while the run is not ended.
	Outcome   *string
	StartedAt time.Time
	UpdatedAt time.Time
	// Inputs is the JSON of the run's inputs.
	Inputs []byte
	// InputKeys are what a run can be found by: one key an input, equal for
	// equal values. They are stored as digests and not read back.
	InputKeys []string
	// Files are the ids of the uploads that the run cites.
	Files []string
	// Record is opaque JSON.
	Record []byte
	// Work is what the run offers now; not read back with the row.
	Work []Work
}

// Work is one entry of the work index: an agent step or a work item.
type Work struct {
	// Key is unique within the run.
	Key string
	// Agent tells an agent step from a work item.
	Agent   bool
	StepID  string
	Process string
	// Available is when it is listed from, to the microsecond, and what lists
	// are sorted by.
	Available time.Time
	// Assignee is who decides a work item: "group:<id>" or "person:<address>",
	// the address in lower case. Empty for an agent step.
	Assignee string
}

const rowColumns = `r.org, r.run_id, r.seq, r.process, r.version, r.state, r.outcome, r.started_at, r.updated_at,
	r.inputs, r.files, r.record`

func (r *Row) targets() []any {
	return []any{&r.Org, &r.RunID, &r.Seq, &r.Process, &r.Version, &r.State, &r.Outcome, &r.StartedAt, &r.UpdatedAt,
		&r.Inputs, &r.Files, &r.Record}
}

func scanRow(row pgx.CollectableRow) (Row, error) {
	var r Row
	err := row.Scan(r.targets()...)
	return r, err
}
