package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Reconciled is what a pass of the reconciler leaves for the next one.
type Reconciled struct {
	// Through is the moment up to which no closed workflow is left unsettled.
	Through time.Time `json:"through"`
	// SweptOrg and SweptRun are the run up to which open records were compared,
	// empty when the next round begins.
	SweptOrg string `json:"sweptOrg,omitempty"`
	SweptRun string `json:"sweptRun,omitempty"`
}

// Reconcile has reservations that a front end left behind settled, and runs
// that were ended in the Temporal UI recorded. A Temporal Schedule starts it,
// and hands it what its last success returned.
func Reconcile(ctx workflow.Context) (Reconciled, error) {
	var last, now Reconciled
	if workflow.HasLastCompletionResult(ctx) {
		if err := workflow.GetLastCompletionResult(ctx, &last); err != nil {
			return now, err
		}
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 5 * time.Minute,
		HeartbeatTimeout:    time.Minute,
		Summary:             "settle reservations, compare open runs with Temporal",
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 2},
	})
	err := workflow.ExecuteActivity(ctx, ActivityReconcile, last).Get(ctx, &now)
	return now, err
}
