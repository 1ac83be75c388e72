package testenv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

var discard = slog.New(slog.DiscardHandler)

const probeName = "testenv-probe"

// awaitNamespace runs a workflow that sets every search attribute, until one
// succeeds. The services of a Temporal server keep caches of their own, and a
// namespace is ready when this has passed through all of them; the service
// that accepts a start is not the one that refuses an unknown attribute later.
func awaitNamespace(ctx context.Context, c client.Client, namespace string) error {
	for {
		err := probe(ctx, c, namespace)
		if err == nil {
			return nil
		}
		var unknown *serviceerror.NamespaceNotFound
		var refused *serviceerror.InvalidArgument
		if !errors.As(err, &unknown) && !errors.As(err, &refused) {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// probe plays the worker itself, in one workflow task.
func probe(ctx context.Context, c client.Client, namespace string) error {
	attributes, err := sampleAttributes(ctx, c, namespace)
	if err != nil {
		return err
	}
	service := c.WorkflowService()
	queue := &taskqueuepb.TaskQueue{Name: probeName + "-" + rand.Text()}
	started, err := service.StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{
		Namespace: namespace, WorkflowId: queue.Name, RequestId: queue.Name,
		WorkflowType: &commonpb.WorkflowType{Name: probeName}, TaskQueue: queue,
		SearchAttributes: &commonpb.SearchAttributes{IndexedFields: attributes},
	})
	if err != nil {
		return err
	}
	// Gone, so that a test that lists its workflows does not count it.
	defer func() {
		_, _ = service.DeleteWorkflowExecution(context.WithoutCancel(ctx), &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: queue.Name, RunId: started.RunId},
		})
	}()
	task, err := service.PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{
		Namespace: namespace, TaskQueue: queue, Identity: probeName,
	})
	if err != nil {
		return err
	}
	if len(task.TaskToken) == 0 {
		return errors.New("the server gave the probe no workflow task")
	}
	commands := []*commandpb.Command{{
		CommandType: enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_CompleteWorkflowExecutionCommandAttributes{
			CompleteWorkflowExecutionCommandAttributes: &commandpb.CompleteWorkflowExecutionCommandAttributes{},
		},
	}}
	if len(attributes) > 0 {
		commands = append([]*commandpb.Command{{
			CommandType: enumspb.COMMAND_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
			Attributes: &commandpb.Command_UpsertWorkflowSearchAttributesCommandAttributes{
				UpsertWorkflowSearchAttributesCommandAttributes: &commandpb.UpsertWorkflowSearchAttributesCommandAttributes{
					SearchAttributes: &commonpb.SearchAttributes{IndexedFields: attributes},
				},
			},
		}}, commands...)
	}
	_, err = service.RespondWorkflowTaskCompleted(ctx, &workflowservice.RespondWorkflowTaskCompletedRequest{
		Namespace: namespace, TaskToken: task.TaskToken, Identity: probeName, Commands: commands,
	})
	return err
}

// sampleAttributes gives each custom search attribute of a namespace a value.
func sampleAttributes(ctx context.Context, c client.Client, namespace string) (map[string]*commonpb.Payload, error) {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	samples := map[enumspb.IndexedValueType]any{
		enumspb.INDEXED_VALUE_TYPE_TEXT:         "probe",
		enumspb.INDEXED_VALUE_TYPE_KEYWORD:      "probe",
		enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST: []string{"probe"},
		enumspb.INDEXED_VALUE_TYPE_INT:          1,
		enumspb.INDEXED_VALUE_TYPE_DOUBLE:       1.5,
		enumspb.INDEXED_VALUE_TYPE_BOOL:         true,
		enumspb.INDEXED_VALUE_TYPE_DATETIME:     "2000-01-01T00:00:00Z",
	}
	fields := map[string]*commonpb.Payload{}
	for name, typ := range have.CustomAttributes {
		if fields[name], err = converter.GetDefaultDataConverter().ToPayload(samples[typ]); err != nil {
			return nil, err
		}
	}
	return fields, nil
}
