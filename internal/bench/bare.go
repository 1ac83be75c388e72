package main

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/agentprocess-temporal/server/internal/server"
)

const (
	bareQueue    = "bench-bare"
	bareWorkflow = "BenchBare"
	bareUpdate   = "noop"
)

// size is what one update carries, in bytes of payload.
type size struct {
	Argument int `json:"argument"`
	Result   int `json:"result"`
}

// filler is text of a run's record, so that bare payloads are as hard to
// compress as ours. It is set before the first bare update, and long enough.
var filler string

// setFiller makes filler of a payload. Quotes go: they would take two bytes.
func setFiller(payload []byte) {
	text := strings.NewReplacer(`"`, "'", `\`, "/").Replace(string(payload))
	filler = strings.Repeat(text, 2)
}

// noop is the argument of a bare update.
type noop struct {
	Result  int    `json:"result"`
	Padding string `json:"padding"`
}

// doNothing is a workflow with one update, which returns as much as it is asked
// for and changes nothing. It ends after so many.
func doNothing(ctx workflow.Context, updates int) error {
	done := 0
	err := workflow.SetUpdateHandler(ctx, bareUpdate, func(_ workflow.Context, n noop) (string, error) {
		done++
		return filler[:n.Result], nil
	})
	if err != nil {
		return err
	}
	return workflow.Await(ctx, func() bool { return done == updates && workflow.AllHandlersFinished(ctx) })
}

// newBareWorker has the options of the server's worker: whatever helps one
// helps the other.
func newBareWorker(c client.Client) worker.Worker {
	w := worker.New(c, bareQueue, server.WorkerOptions())
	w.RegisterWorkflowWithOptions(doNothing, workflow.RegisterOptions{Name: bareWorkflow})
	return w
}

// startBare starts a workflow for so many updates, and has one carried out, as
// start_run does.
func startBare(ctx context.Context, c client.Client, updates int) (id string, err error) {
	id = "bench-bare/" + uuid.NewString()
	_, err = c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: bareQueue}, bareWorkflow, updates+1)
	if err != nil {
		return "", err
	}
	return id, updateBare(ctx, c, id, size{Argument: 100, Result: 1000})
}

// updateBare carries one bare update out, with payloads of the given size.
func updateBare(ctx context.Context, c client.Client, id string, s size) error {
	handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateID: uuid.NewString(), UpdateName: bareUpdate,
		Args:         []any{noop{Result: s.Result, Padding: filler[:s.Argument]}},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	var out string
	return handle.Get(ctx, &out)
}
