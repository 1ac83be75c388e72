package records

import (
	"crypto/sha256"
	"time"

	"github.com/jackc/pgx/v5"
)

// QueueApply queues storing a record and its work. The record replaces an older
// one only (by Seq), and the work index follows the record that stands: after a
// record that came too late, nothing has changed; after the same record again,
// nothing has either. The batch runs as one transaction, in which the run stays
// locked from here on, so concurrent applies of one run take turns.
//
// Queue it before anything else that writes (ledger.QueueDone). What it returns
// affects a row if the record was stored, and none if it came too late.
func QueueApply(b *pgx.Batch, r Row) *pgx.QueuedQuery {
	// A conflict locks the row even where the condition keeps it as it is.
	stored := b.Queue(`INSERT INTO runs AS r (org, run_id, seq, process, version, state, outcome, started_at, updated_at,
			inputs, input_keys, files, record)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
		ON CONFLICT (org, run_id) DO UPDATE SET seq = EXCLUDED.seq, process = EXCLUDED.process,
			version = EXCLUDED.version, state = EXCLUDED.state, outcome = EXCLUDED.outcome,
			started_at = EXCLUDED.started_at, updated_at = EXCLUDED.updated_at, inputs = EXCLUDED.inputs,
			input_keys = EXCLUDED.input_keys, files = EXCLUDED.files, record = EXCLUDED.record
		WHERE r.seq < EXCLUDED.seq`,
		r.Org, r.RunID, r.Seq, r.Process, r.Version, r.State, r.Outcome, r.StartedAt, r.UpdatedAt,
		nonNil(r.Inputs), digests(r.Org, r.InputKeys), nonNilText(r.Files), nonNil(r.Record))

	// A statement of its own has a snapshot of its own, taken under the lock: it
	// sees what the apply before this one left.
	var w workColumns
	for _, each := range r.Work {
		w.add(each)
	}
	b.Queue(`WITH standing AS (SELECT FROM runs WHERE org = $1 AND run_id = $2 AND seq = $3),
		gone AS (DELETE FROM work WHERE org = $1 AND run_id = $2 AND key <> ALL($4::text[]) AND EXISTS (SELECT FROM standing))
		INSERT INTO work AS w (org, run_id, key, agent, step_id, process, available, assignee)
		SELECT $1, $2, u.*
		FROM unnest($4::text[], $5::boolean[], $6::text[], $7::text[], $8::timestamptz[], $9::bytea[]) u
		WHERE EXISTS (SELECT FROM standing)
		ON CONFLICT (org, run_id, key) DO UPDATE SET agent = EXCLUDED.agent, step_id = EXCLUDED.step_id,
			process = EXCLUDED.process, available = EXCLUDED.available, assignee = EXCLUDED.assignee
		WHERE (w.agent, w.step_id, w.process, w.available, w.assignee)
			IS DISTINCT FROM (EXCLUDED.agent, EXCLUDED.step_id, EXCLUDED.process, EXCLUDED.available, EXCLUDED.assignee)`,
		r.Org, r.RunID, r.Seq, nonNilText(w.keys), w.agents, w.steps, w.processes, w.available, w.assignees)
	return stored
}

// workColumns is []Work turned on its side, as unnest takes it.
type workColumns struct {
	keys, steps, processes []string
	agents                 []bool
	available              []time.Time
	assignees              [][]byte
}

func (c *workColumns) add(w Work) {
	c.keys = append(c.keys, w.Key)
	c.agents = append(c.agents, w.Agent)
	c.steps = append(c.steps, w.StepID)
	c.processes = append(c.processes, w.Process)
	c.available = append(c.available, w.Available)
	c.assignees = append(c.assignees, []byte(w.Assignee))
}

// digests turns input keys into what is stored and searched: 16 bytes each, of
// any value however long, and never equal between two organizations.
func digests(org string, keys []string) [][]byte {
	out := make([][]byte, 0, len(keys))
	for _, key := range keys {
		sum := sha256.Sum256([]byte(org + "\x00" + key))
		out = append(out, sum[:16])
	}
	return out
}

// nonNil and nonNilText make an empty value of nil, which Postgres would take
// for NULL.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func nonNilText(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
