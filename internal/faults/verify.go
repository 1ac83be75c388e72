package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/records"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

// grace is how long after the last fault everything may take to settle.
const grace = 2 * time.Minute

var errEnough = errors.New("enough is wrong")

// agreeWithin bounds how long one run may take to have everything stored.
const agreeWithin = 30 * time.Second

// verifier holds what callers saw against what is there.
type verifier struct {
	*world
	processes map[string]*process.Process
	reader    *caller
	callers   map[string]*caller // by subject
	ended     time.Time
	seed      uint64
	keepers   uint64 // clients made for runs that are kept

	runs    []string
	records map[string]*run.Run // as the workflows hold them
	views   map[string]run.View // as a reader sees them
	reads   map[string][2]time.Time
	rows    map[string]ledgerRow // by requestId
}

// ledgerRow is a row of the ledger.
type ledgerRow struct {
	tool, runID string
	done        bool
}

// quiet waits until nothing is pending and nothing is owed.
func (v *verifier) quiet(ctx context.Context) {
	began := time.Now()
	for !v.problems.enough() {
		var pending int
		err := v.stack.pool.QueryRow(ctx, `SELECT count(*) FROM requests WHERE NOT done`).Scan(&pending)
		if err == nil && pending == 0 {
			break
		}
		if time.Since(began) > grace {
			v.problems.add("%d reservations are pending %v after the last call: %v", pending, grace, v.pending(ctx))
			break
		}
		if !wait(ctx, 250*time.Millisecond) {
			return
		}
	}
	v.problems.checked("reservations settled (waits for none to be pending)", 1)
}

func (v *verifier) pending(ctx context.Context) []string {
	rows, err := v.stack.pool.Query(ctx, `SELECT tool || ' ' || request_id || ' on ' || run_id || ' until ' || not_after FROM requests WHERE NOT done LIMIT 10`)
	if err != nil {
		return []string{err.Error()}
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return []string{err.Error()}
	}
	return list
}

// load reads the ledger, and finds out what became of calls that were abandoned,
// or refused while a sending of them was still under way.
func (v *verifier) load(ctx context.Context) error {
	rows, err := v.stack.pool.Query(ctx, `SELECT request_id, tool, run_id, done FROM requests WHERE org = $1`, org)
	if err != nil {
		return err
	}
	v.rows = map[string]ledgerRow{}
	var id string
	var row ledgerRow
	_, err = pgx.ForEachRow(rows, []any{&id, &row.tool, &row.runID, &row.done}, func() error {
		v.rows[id] = row
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range v.calls.all() {
		if c.OK || !v.rows[c.RequestID].done {
			continue
		}
		if c.Unanswered == 0 && len(c.Others) == 0 {
			v.problems.add("a write that was refused is in the ledger: %v", c)
			continue
		}
		a, err := v.callers[c.By.Subject].send(ctx, c.Tool, c.Args, patience)
		if err != nil || !a.ok {
			v.problems.add("a write in the ledger cannot be replayed (%v, %v): %v", a.refusal, err, c)
			continue
		}
		c.Late, c.OK, c.Data, c.Refusal, c.Ended = true, true, a.data, nil, v.ended
		if c.Tool == "start_run" {
			var view run.View
			if json.Unmarshal(a.data, &view) == nil {
				c.RunID = view.Run.ID
			}
		}
	}
	return nil
}

// compareLedger holds the calls against the ledger: each acknowledged write is
// there, and nothing else is.
func (v *verifier) compareLedger() {
	acknowledged := map[string]bool{}
	for _, c := range v.calls.all() {
		if !c.OK {
			continue
		}
		acknowledged[c.RequestID] = true
		row, ok := v.rows[c.RequestID]
		switch {
		case !ok || !row.done:
			v.problems.add("an acknowledged write is not in the ledger: %v", c)
		case row.tool != c.Tool || row.runID != c.RunID:
			v.problems.add("the ledger has %v of %s for %v", row.tool, row.runID, c)
		}
	}
	for id, row := range v.rows {
		if row.done && !acknowledged[id] {
			v.problems.add("the ledger has a write that nobody was told of: %s %s on %s", row.tool, id, row.runID)
		}
	}
	v.problems.checked("acknowledged writes found in the ledger", len(acknowledged))
}

// loadRuns reads every run three times: from its workflow, from Postgres, and as
// a caller does. The first two must agree, but for what a timer changed in between.
func (v *verifier) loadRuns(ctx context.Context) error {
	rows, err := v.stack.pool.Query(ctx, `SELECT run_id FROM runs WHERE org = $1 ORDER BY run_id`, org)
	if err != nil {
		return err
	}
	if v.runs, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return err
	}
	v.records, v.views, v.reads = map[string]*run.Run{}, map[string]run.View{}, map[string][2]time.Time{}
	var g errgroup.Group
	g.SetLimit(8)
	held := make([]*run.Run, len(v.runs))
	for i, id := range v.runs {
		g.Go(func() error {
			inTime, cancel := context.WithTimeout(ctx, agreeWithin)
			defer cancel()
			err := errEnough
			for inTime.Err() == nil && !v.problems.enough() {
				if held[i], err = v.agree(inTime, id); err == nil {
					return nil
				}
				wait(inTime, 500*time.Millisecond)
			}
			if !errors.Is(err, errEnough) {
				v.problems.add("%s: %v", id, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, id := range v.runs {
		if held[i] == nil {
			continue
		}
		v.records[id] = held[i]
		began := time.Now()
		view, err := read[run.View](ctx, v.reader, "get_run", args{"runId": id})
		if err != nil {
			return fmt.Errorf("read %s: %w", id, err)
		}
		v.views[id], v.reads[id] = view, [2]time.Time{began, time.Now()}
	}
	v.problems.checked("runs whose workflow, read model and work index agree", len(v.records))
	return nil
}

// agree returns the run as its workflow holds it, or an error where Postgres
// holds another.
func (v *verifier) agree(ctx context.Context, id string) (*run.Run, error) {
	value, err := v.stack.temporalClient.QueryWorkflow(ctx, workflows.WorkflowID(org, id), "", workflows.QueryRun)
	if err != nil {
		return nil, fmt.Errorf("the workflow does not answer: %w", err)
	}
	var raw json.RawMessage
	r := new(run.Run)
	if err := value.Get(&raw); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, err
	}
	r.Process = v.processes[r.Record.Process]
	var row *records.Row
	var now time.Time
	b := &pgx.Batch{}
	records.QueueLook(b, org, id, &row, &now)
	if err := v.stack.pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	if row == nil {
		return nil, errors.New("there is a workflow and no record")
	}
	want, err := operations.Row(r)
	if err != nil {
		return nil, err
	}
	if row.Seq != want.Seq || !bytes.Equal(row.Record, want.Record) {
		return nil, fmt.Errorf("the workflow is at %d, the record at %d:\n    %s\n    %s", want.Seq, row.Seq, want.Record, row.Record)
	}
	if n := len(r.Outbox); n > 0 {
		return nil, fmt.Errorf("%d notifications are still owed: %+v", n, r.Outbox[0])
	}
	return r, v.agreeOnWork(ctx, id, want.Work)
}

// agreeOnWork holds the work index of a run against what the run offers.
func (v *verifier) agreeOnWork(ctx context.Context, id string, work []records.Work) error {
	want := map[string]string{}
	for _, w := range work {
		want[w.Key] = fmt.Sprintf("%s %t %s %d", w.StepID, w.Agent, w.Assignee, w.Available.UnixMicro())
	}
	rows, err := v.stack.pool.Query(ctx, `SELECT key, step_id, agent, assignee, available FROM work WHERE org = $1 AND run_id = $2`, org, id)
	if err != nil {
		return err
	}
	have := map[string]string{}
	var key, step string
	var agent bool
	var assignee []byte
	var available time.Time
	_, err = pgx.ForEachRow(rows, []any{&key, &step, &agent, &assignee, &available}, func() error {
		have[key] = fmt.Sprintf("%s %t %s %d", step, agent, assignee, available.UnixMicro())
		return nil
	})
	if err != nil {
		return err
	}
	if !maps.Equal(want, have) {
		return fmt.Errorf("the work index has %v, the run offers %v", have, want)
	}
	return nil
}

// notified holds what went out against what the runs had to tell: every
// notification has a number, and none is left out.
func (v *verifier) notified() {
	out := v.stack.said.delivered()
	due, twice := 0, 0
	for id, r := range v.records {
		if r.Mode == run.Test && r.Notified > 0 {
			v.problems.add("the test run %s notified %d times", id, r.Notified)
		}
		for n := int64(1); n <= r.Notified; n++ {
			due++
			switch times := out[fmt.Sprintf("%s-%d", id, n)]; {
			case times == 0:
				v.problems.add("notification %d of %d of %s did not go out", n, r.Notified, id)
			case times > 1:
				twice++
			}
		}
	}
	v.problems.checked("notifications that went out", due)
	v.problems.checked("of them more than once, which is allowed", twice)
}

// replays repeats acknowledged writes, up to a number, and holds the answers
// against the first ones.
func (v *verifier) replays(ctx context.Context, most int) {
	var done []*call
	for _, c := range v.calls.all() {
		if c.OK {
			done = append(done, c)
		}
	}
	v.reader.rng.Shuffle(len(done), func(i, j int) { done[i], done[j] = done[j], done[i] })
	var g errgroup.Group
	g.SetLimit(8)
	for _, c := range done[:min(len(done), most)] {
		g.Go(func() error {
			for range 5 {
				a, err := v.callers[c.By.Subject].send(ctx, c.Tool, c.Args, patience)
				if err == nil && a.definite() {
					v.problems.replay(c, a)
					return nil
				}
			}
			v.problems.add("a replay has no answer: %v", c)
			return nil
		})
	}
	_ = g.Wait() // no error: what is wrong is a problem
	for _, c := range done {
		for _, a := range c.Others {
			if a.ok {
				v.problems.replay(c, a)
			}
		}
	}
}

// tables holds counts against each other that must be equal whatever happened.
func (v *verifier) tables(ctx context.Context) {
	for what, query := range map[string]string{
		"work of runs that are over":   `SELECT count(*) FROM work w JOIN runs r USING (org, run_id) WHERE r.state IN ('ended', 'cancelled')`,
		"work of runs that are not":    `SELECT count(*) FROM work w WHERE NOT EXISTS (SELECT FROM runs r WHERE r.org = w.org AND r.run_id = w.run_id)`,
		"files nobody was told of":     `SELECT count(*) FROM files f WHERE NOT EXISTS (SELECT FROM requests q WHERE q.org = f.org AND 'f_' || replace(q.attempt, '-', '') = f.id AND q.done)`,
		"requestIds with several rows": `SELECT count(*) FROM (SELECT FROM requests GROUP BY org, request_id HAVING count(*) > 1) q`,
		"done requests without result": `SELECT count(*) FROM requests WHERE done AND result IS NULL`,
	} {
		var n int
		if err := v.stack.pool.QueryRow(ctx, query).Scan(&n); err != nil {
			v.problems.add("%s: %v", what, err)
		} else if n > 0 {
			v.problems.add("there are %d: %s", n, what)
		}
	}
	if err := postgres.Check(ctx, v.stack.pool); err != nil {
		v.problems.add("the schema: %v", err)
	}
}

// continued counts how often runs continued as new: what has to have happened for
// the rest to say anything about it.
func (v *verifier) continued(ctx context.Context) {
	found, err := v.stack.temporalClient.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Query: fmt.Sprintf(`WorkflowType = '%s' AND ExecutionStatus = 'ContinuedAsNew'`, workflows.TypeRun),
	})
	if err == nil {
		v.problems.checked("times that a run continued as new", int(found.GetCount()))
	}
}

// definite holds every call to an answer.
func (v *verifier) definite() {
	n := 0
	for _, c := range v.calls.all() {
		if c.Abandoned {
			v.problems.checked("calls that were abandoned without an answer", 1)
			continue
		}
		if !c.OK && c.Refusal == nil {
			v.problems.add("no definite answer, though everything is up: %v", c)
		}
		n++
	}
	v.problems.checked("calls with a definite answer", n)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
