package workflows

import (
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/agentprocess-temporal/server/run"
)

// Temporal takes four megabytes of what a workflow task comes to, and fails the
// task of a run that has more to say, again and again. One task may carry ten
// updates. Besides them it may store the record and notify, each with a record, or
// continue as new with roomInInput; two and a half megabytes are for that.
const (
	// roomForWrites bounds what the writes of one task bring, have checked and
	// return, in bytes. One alone always fits: a submission, of at most
	// run.Limits.RunDataBytes, comes with what was found out about it, which is about as
	// long again.
	roomForWrites = 1_500_000
	// roomInTask bounds the records that they return, in bytes.
	roomInTask = 1 << 20
)

// roomInInput is how much a workflow may begin with, and a query return, in bytes;
// Temporal takes two megabytes.
const roomInInput = 1_900_000

// crowded is the type of the error of an update for which there is no room left in
// this task.
const crowded = "crowded"

// errCrowded refuses an update for now.
func errCrowded() error {
	return temporal.NewApplicationErrorWithOptions("too much was written at once; send it again", crowded,
		temporal.ApplicationErrorOptions{NonRetryable: true})
}

// IsCrowded reports whether an update was refused because there was no room for
// its answer beside those of others. It was not carried out: the next workflow task
// has room again.
func IsCrowded(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == crowded
}

// taskAnswers counts the writes accepted in one workflow task, which the length of
// the history names, and the records returned in it. Taken is what the writes brought
// and have checked, in bytes; only validators count it, so nothing else may depend on it.
type taskAnswers struct{ task, records, writes, taken int }

// inTask are the counts of this task.
func (w *processRun) inTask(ctx workflow.Context) *taskAnswers {
	if task := workflow.GetInfo(ctx).GetCurrentHistoryLength(); w.answers.task != task {
		w.answers = taskAnswers{task: task}
	}
	return &w.answers
}

func (w *processRun) answered(ctx workflow.Context) { w.inTask(ctx).records++ }

// admit reports whether a write still has room in this task, and counts it if so.
// The first always has.
func (w *processRun) admit(ctx workflow.Context, c run.Command) bool {
	t := w.inTask(ctx)
	takes := len(marshaled(c))
	checked := w.r.NeedsCheck(c, workflow.Now(ctx))
	if t.writes > 0 || t.records > 0 || checked {
		record := len(marshaled(w.r.Record))
		if checked {
			takes += takes + record // the evaluator is given the submission, and run data
		}
		if t.writes+t.records > 0 && t.taken+takes+(t.records+1)*record > roomForWrites {
			return false
		}
	}
	t.writes++
	t.taken += takes
	return true
}

// full reports whether another record has no room in this task. The first always
// has: [run.Record] is bounded by the cap on run data and by what a process may
// take (operations.MaxRecordShare).
func (w *processRun) full(ctx workflow.Context) bool {
	if w.answers.records == 0 || w.answers.task != workflow.GetInfo(ctx).GetCurrentHistoryLength() {
		return false
	}
	record, err := json.Marshal(w.r.Record)
	return err == nil && (w.answers.records+1)*len(record) > roomInTask
}

// spread puts a write that was accepted in an earlier task off until there is room
// for its answer.
func (w *processRun) spread(ctx workflow.Context) {
	own, _ := workflow.NewDisconnectedContext(ctx)
	for w.full(ctx) && workflow.GetVersion(own, "spread answers", workflow.DefaultVersion, 1) == 1 {
		_ = workflow.Sleep(own, time.Millisecond) // nothing cancels it
	}
}

// fit returns the requests that a run remembers without as many of those that are
// stored, the oldest first, as it takes for v, which holds them all, to fit. What is
// left then is bounded as a record is.
func fit(v any, requests []run.Request) []run.Request {
	size := len(marshaled(v))
	var kept []run.Request
	for _, q := range requests {
		if size > roomInInput && !q.Stored.IsZero() {
			size -= len(marshaled(q)) + len(",")
			continue
		}
		kept = append(kept, q)
	}
	return kept
}

func marshaled(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of what came as JSON
	}
	return b
}
