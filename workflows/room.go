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
// updates: their arguments, of at most run.Limits.RunDataBytes each, take less than
// half of it, and the activities that store and notify a quarter. roomInTask is for
// the records that the updates return.
const roomInTask = 1 << 20

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

// taskAnswers counts the records returned in one workflow task, which the length of
// the history names.
type taskAnswers struct{ task, records int }

func (w *processRun) answered(ctx workflow.Context) {
	if task := workflow.GetInfo(ctx).GetCurrentHistoryLength(); w.answers.task != task {
		w.answers = taskAnswers{task: task}
	}
	w.answers.records++
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
