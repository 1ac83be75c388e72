package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Reconcile has reservations that a front end left behind settled, and runs
// that were ended in the Temporal UI recorded. A Temporal Schedule starts it.
func Reconcile(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 5 * time.Minute,
		HeartbeatTimeout:    30 * time.Second,
		Summary:             "settle reservations, compare open runs with Temporal",
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 2},
	})
	return workflow.ExecuteActivity(ctx, ActivityReconcile).Get(ctx, nil)
}
