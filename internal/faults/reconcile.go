package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/agentprocess-temporal/server/workflows"
)

// reconciler has runs store what they know, as the server's own does for runs
// with a reservation left behind, but all the time.
func (w *world) reconciler(_, until context.Context, c *caller) {
	for until.Err() == nil {
		pause(until, time.Duration(c.rng.Int64N(int64(300*time.Millisecond))))
		if id := w.someRun(c); id != "" {
			w.store(until, id, c.requestID())
		}
	}
}

// store asks a run to store what it knows. It may be over before it is asked; once
// it has begun to answer it must not close before it has.
func (w *world) store(until context.Context, id, updateID string) {
	ctx, cancel := context.WithTimeout(until, patience)
	defer cancel()
	handle, err := w.stack.temporalClient.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflows.WorkflowID(org, id), UpdateID: updateID,
		UpdateName: workflows.UpdateProject, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	var failed *temporal.ApplicationError
	if errors.As(err, &failed) && failed.Type() == "AcceptedUpdateCompletedWorkflow" {
		w.problems.add("the workflow of %s closed while it was storing what it knows: %v", id, err)
	}
	w.problems.checked("times that a run was asked to store what it knows", 1)
}

// whileStoring makes a write while its run is asked, again and again, to store what
// it knows: the write may be the last one.
func (w *world) whileStoring(ctx context.Context, c *caller, runID string, write func() *call) *call {
	id := c.requestID()
	var asking sync.WaitGroup
	for i := range 4 {
		asking.Go(func() {
			pause(ctx, time.Duration(i*7)*time.Millisecond)
			w.store(ctx, runID, fmt.Sprintf("%s-%d", id, i))
		})
	}
	defer asking.Wait()
	return write()
}
