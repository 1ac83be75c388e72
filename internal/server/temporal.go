package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/agentprocess-temporal/server/workflows"
)

// MissingAttributesError says which search attributes a namespace lacks.
type MissingAttributesError struct {
	Namespace string
	Missing   []string
}

// Error names the command that mends it.
func (e *MissingAttributesError) Error() string {
	return fmt.Sprintf("temporal: namespace %q lacks the search attributes %s: run `agentprocess setup-temporal`, or have an operator run what `agentprocess setup-temporal --print` prints",
		e.Namespace, strings.Join(e.Missing, ", "))
}

// CheckSearchAttributes returns a *MissingAttributesError where the namespace
// lacks a search attribute that runs use.
func CheckSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("temporal: list search attributes: %w", err)
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(workflows.SearchAttributes())) {
		if have.CustomAttributes[name] != workflows.SearchAttributes()[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return &MissingAttributesError{Namespace: namespace, Missing: missing}
	}
	return nil
}

// SetupSearchAttributes registers the search attributes that the namespace lacks,
// and returns their names.
func SetupSearchAttributes(ctx context.Context, c client.Client, namespace string) ([]string, error) {
	err := CheckSearchAttributes(ctx, c, namespace)
	var missing *MissingAttributesError
	if !errors.As(err, &missing) {
		return nil, err
	}
	request := &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: workflows.SearchAttributes()}
	for name := range request.SearchAttributes {
		if !slices.Contains(missing.Missing, name) {
			delete(request.SearchAttributes, name)
		}
	}
	if _, err := c.OperatorService().AddSearchAttributes(ctx, request); err != nil {
		return nil, fmt.Errorf("temporal: add search attributes: %w", err)
	}
	return missing.Missing, nil
}

// reconcileEvery is how often what was left behind is looked for.
const reconcileEvery = 20 * time.Second

// ensureSchedule creates the reconciler's schedule unless it is there: there is
// one for all replicas, and operators see it in the Temporal UI.
func ensureSchedule(ctx context.Context, c client.Client, taskQueue string) error {
	_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:   "agentprocess-reconcile-" + taskQueue,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: reconcileEvery}}},
		Action: &client.ScheduleWorkflowAction{
			ID: "agentprocess-reconcile-" + taskQueue, Workflow: workflows.TypeReconcile, TaskQueue: taskQueue,
			WorkflowExecutionTimeout: 10 * time.Minute,
		},
		CatchupWindow: time.Minute,
	})
	var exists *serviceerror.AlreadyExists
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) || errors.As(err, &exists) {
		return nil
	}
	return err
}
