package workflows_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/internal/mcpclient"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

// large is an input with which some forty writes make a history long enough to
// continue as new: each leaves a record of that size in it.
var large = Args{"text": strings.Repeat("x", 100<<10)}

const holdsEvents = `inputs: { text: string }
steps:
  - { id: work, agent: Do it., next: end }
  - { id: end, finish: done }`

// chainOf lists the workflow runs of a run, the first one first.
func (s *live) chainOf(id string) []string {
	described, err := s.c.DescribeWorkflow(context.Background(), workflows.WorkflowID("acme", id), "")
	require.NoError(s.t, err)
	var runs []string
	for next := described.RawResponse.WorkflowExecutionInfo.FirstRunId; next != ""; {
		runs = append(runs, next)
		events := s.historyOf(id, next)
		next = events[len(events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return runs
}

func TestWritesThatRaceWithContinuingAsNewAreCarriedOutOnce(t *testing.T) {
	s := startLive(t)
	id := s.begin(holdsEvents, large)
	claim := Args{"runId": id, "stepId": "work", "requestId": ID()}
	claimed := Must[struct{ Token string }](s.Server, A1, "claim", claim)

	const callers, each = 6, 20
	var g errgroup.Group
	for caller := range callers {
		g.Go(func() error {
			c, err := mcpclient.Dial(context.Background(), s.URL+"/mcp", s.Token(A1))
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			for i := range each {
				args := Args{"runId": id, "name": fmt.Sprintf("e-%d-%d", caller, i), "data": Args{}, "requestId": ID()}
				for try := 0; ; try++ {
					result, err := c.Call(context.Background(), "send_event", args)
					if err != nil {
						return err
					}
					if result.OK {
						break
					}
					if result.Error.Code != run.Retry || try == 20 {
						return result.Error
					}
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())

	chain := s.chainOf(id)
	require.GreaterOrEqual(t, len(chain), 3, "it does so also while writes keep coming")
	var seen int
	for _, each := range chain {
		events := s.historyOf(id, each)
		require.Equal(t, count(events, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED), count(events, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED))
		seen += count(events, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED)
		t.Logf("%d events, %d failed workflow tasks", len(events), count(events, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED))
	}
	t.Logf("%d workflow runs, %d updates", len(chain), seen)
	held := s.stored(id).Held
	require.Len(t, held, callers*each)
	names := map[string]bool{}
	for _, e := range held {
		names[e.Name] = true
	}
	require.Len(t, names, callers*each, "each event is held once")

	// What operators see of it is still there.
	described, err := s.c.DescribeWorkflow(t.Context(), workflows.WorkflowID("acme", id), "")
	require.NoError(t, err)
	org, _ := described.TypedSearchAttributes.GetKeyword(workflows.AttrOrganization)
	steps, _ := described.TypedSearchAttributes.GetKeywordList(workflows.AttrSteps)
	require.Equal(t, "acme", org)
	require.Equal(t, []string{"work"}, steps)
	value, err := s.c.QueryWorkflow(t.Context(), workflows.WorkflowID("acme", id), "", "__temporal_workflow_metadata")
	require.NoError(t, err)
	var metadata sdkpb.WorkflowMetadata
	require.NoError(t, value.Get(&metadata))
	require.Contains(t, metadata.CurrentDetails, "**p** v1 · active")

	// And the claim still stands, with the outcome it had.
	require.Equal(t, claimed.Token, Must[struct{ Token string }](s.Server, A1, "claim", claim).Token)
	s.submit(claimed.Token)
	require.NoError(t, s.closed(id))
	described, err = s.c.DescribeWorkflow(t.Context(), workflows.WorkflowID("acme", id), "")
	require.NoError(t, err)
	state, _ := described.TypedSearchAttributes.GetKeyword(workflows.AttrState)
	require.Equal(t, string(run.Ended), state)
	steps, _ = described.TypedSearchAttributes.GetKeywordList(workflows.AttrSteps)
	require.Empty(t, steps)
}

func TestARequestIsStillKnownRightAfterContinuingAsNew(t *testing.T) {
	s := startLive(t)
	id := s.begin(holdsEvents, large)
	send := func(requestID string, c run.Command) workflows.Written {
		c.By, c.RequestID, c.Digest, c.Attempt, c.NotAfter = agent, requestID, "00", ID(), time.Now().Add(time.Minute)
		handle, err := s.c.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
			WorkflowID: workflows.WorkflowID("acme", id), UpdateID: c.Attempt, UpdateName: c.Tool(),
			Args: []any{c}, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		require.NoError(t, err)
		var w workflows.Written
		require.NoError(t, handle.Get(t.Context(), &w))
		return w
	}
	first := send("c", claim("work", time.Hour))
	for i := 0; len(s.chainOf(id)) == 1; i++ {
		send(fmt.Sprint("e", i), event("news", `{}`))
	}
	require.Equal(t, first.Outcome, send("c", claim("work", time.Hour)).Outcome)
	s.cancel(id)
	require.NoError(t, s.closed(id))
}
