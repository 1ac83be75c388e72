package main

import (
	"context"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/agentprocess-temporal/server/workflows"
)

// history is what the workflow of one whole run of 20 claims and 20 submissions
// left in Temporal.
type history struct {
	// Events are all, from the start of the run to its end.
	Events   int            `json:"events"`
	Kinds    map[string]int `json:"kinds"`
	Writes   int            `json:"writes"`
	PerWrite float64        `json:"perWrite"`
	// EarlyActivities are those scheduled before the last write.
	EarlyActivities int `json:"activitiesBeforeLastWrite"`
	// Sizes are the payloads of each write, in order.
	Sizes []size `json:"sizes"`
}

// writes measures the writes of the server beside bare updates.
type writes struct {
	*stack
	caller *mcpClient
	// sizes are the payloads of the writes of a run, in order.
	sizes []size
}

// history works one run from its start to its end and reads what it left.
func (w *writes) history(ctx context.Context) (h history, err error) {
	runID, err := w.caller.start(ctx, sequenceName)
	if err != nil {
		return h, err
	}
	var token string
	for i := range 2 * pairs {
		if err := w.write(ctx, runID, i, &token); err != nil {
			return h, err
		}
	}
	id := workflows.WorkflowID(org, runID)
	if err := w.client.GetWorkflow(ctx, id, "").Get(ctx, nil); err != nil {
		return h, err
	}
	h.Kinds, h.Writes = map[string]int{}, 2*pairs
	activities := 0
	arguments := map[int64]int{}
	events := w.client.GetWorkflowHistory(ctx, id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return h, err
		}
		h.Events++
		h.Kinds[e.GetEventType().String()]++
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			activities++
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
			a := e.GetWorkflowExecutionUpdateAcceptedEventAttributes()
			if a.GetAcceptedRequest().GetInput().GetName() != workflows.UpdateStart {
				h.EarlyActivities = activities
				arguments[e.GetEventId()] = length(a.GetAcceptedRequest().GetInput().GetArgs())
			}
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
			a := e.GetWorkflowExecutionUpdateCompletedEventAttributes()
			if argument, ok := arguments[a.GetAcceptedEventId()]; ok {
				setFiller(a.GetOutcome().GetSuccess().GetPayloads()[0].GetData()) // the last is the longest
				h.Sizes = append(h.Sizes, size{Argument: argument, Result: length(a.GetOutcome().GetSuccess())})
			}
		}
	}
	if len(h.Sizes) != h.Writes {
		return h, fmt.Errorf("%d writes left %d updates", h.Writes, len(h.Sizes))
	}
	h.PerWrite = ratio(float64(h.Events), float64(h.Writes))
	return h, nil
}

func length(p *commonpb.Payloads) (n int) {
	for _, each := range p.GetPayloads() {
		n += len(each.GetData())
	}
	return n
}

// write is the i-th write of a run of the sequence: a claim, or the submission
// for the token that the claim left.
func (w *writes) write(ctx context.Context, runID string, i int, token *string) (err error) {
	if i%2 == 1 {
		return w.caller.submit(ctx, *token)
	}
	*token, err = w.caller.claim(ctx, runID, fmt.Sprintf("s%02d", i/2+1))
	return err
}
