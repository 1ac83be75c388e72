package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/ledger"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

func (w *world) reserve(runID string, notAfter time.Time) string {
	id := ID()
	existing, err := ledger.Reserve(w.t.Context(), w.pool, ledger.Entry{
		Org: "acme", RequestID: id, Digest: []byte{1}, Tool: "claim", RunID: runID, Attempt: uuid.NewString(), NotAfter: notAfter,
	})
	require.NoError(w.t, err)
	require.Nil(w.t, existing)
	return id
}

func TestAReservationWhoseFrontEndDiedBeforeTheUpdateIsDropped(t *testing.T) {
	w := newWorld(t)
	id := w.begin()
	old := time.Now().Add(-2 * time.Minute)
	ofRun, ofNoRun, ofUpload := w.reserve(id, old), w.reserve("r_never", old), w.reserve("", old)
	fresh := w.reserve(id, time.Now().Add(-30*time.Second))
	w.pass()
	for _, requestID := range []string{ofRun, ofNoRun, ofUpload} {
		require.Equal(t, "none", w.request(requestID))
	}
	require.Equal(t, "pending", w.request(fresh), "not a minute past its time")
	w.claim(Args{"runId": id, "stepId": "first", "requestId": ofRun}) // the id is free again
}

func TestAWriteWhoseFrontEndDiedBeforeApplyingItIsAppliedAndAnsweredOnResend(t *testing.T) {
	w := newWorld(t)
	id := w.begin()
	before, _ := w.stored(id)
	claim := Args{"runId": id, "stepId": "first", "requestId": ID()}
	token := w.claim(claim)
	_, after := w.stored(id)
	w.forget(id, claim["requestId"].(string), before)

	w.pass()
	require.Equal(t, "done", w.request(claim["requestId"].(string)))
	_, stored := w.stored(id)
	require.Equal(t, after, stored)
	require.Equal(t, token, w.claim(claim), "the same token")
	require.Equal(t, "agent a1 by a1", w.recovered(claim["requestId"].(string)), "and the audit log says who")
}

// recovered is whom the audit log names of a write that was stored by the run.
func (w *world) recovered(requestID string) (who string) {
	err := w.pool.QueryRow(context.Background(), `SELECT kind || ' ' || caller || ' by ' || client FROM audit WHERE request_id = $1 AND result = 'recovered'`, requestID).Scan(&who)
	require.NoError(w.t, err)
	return who
}

func TestAWriteOfARunThatHasEndedSinceIsAlreadyStored(t *testing.T) {
	w := newWorld(t)
	id := w.begin()
	before, _ := w.stored(id)
	cancel := Args{"runId": id, "reason": "enough", "requestId": ID()}
	Must[run.View](w.Server, Boss, "cancel", cancel)
	require.NoError(t, w.c.GetWorkflow(t.Context(), workflows.WorkflowID("acme", id), "").Get(t.Context(), nil))
	require.Equal(t, "done", w.request(cancel["requestId"].(string)))

	// Were Postgres restored from before, the run's workflow still knows.
	w.forget(id, cancel["requestId"].(string), before)
	w.pass()
	_, stored := w.stored(id)
	require.Equal(t, run.Cancelled, stored.State)
	require.Equal(t, "ops@example.com", stored.Ended.By)
}

func TestARunTerminatedInTemporalBecomesCancelledByServer(t *testing.T) {
	w := newWorld(t)
	id := w.begin()
	before, _ := w.stored(id)
	claim := Args{"runId": id, "stepId": "first", "requestId": ID()}
	w.claim(claim)
	w.forget(id, claim["requestId"].(string), before)
	require.NoError(t, w.c.TerminateWorkflow(t.Context(), workflows.WorkflowID("acme", id), "", "test"))
	_ = w.Refused(run.Retry, A1, "claim", Args{"runId": id, "stepId": "first", "requestId": ID()})

	w.awaitListed(id, "Terminated")
	w.pass()
	_, stored := w.stored(id)
	require.Equal(t, run.Cancelled, stored.State)
	require.Equal(t, run.Server, stored.Ended.By)
	require.Contains(t, *stored.Ended.Note, "Terminated")
	require.Equal(t, "done", w.request(claim["requestId"].(string)), "what it had executed stays executed")
	refused := w.Refused(run.Conflict, A1, "claim", Args{"runId": id, "stepId": "first", "requestId": ID()})
	require.Equal(t, []string{"run_ended"}, refused.Issues)
	seq := stored.Seq
	w.pass()
	_, stored = w.stored(id)
	require.Equal(t, seq, stored.Seq, "once")
}

func TestARunResetToBeforeAnAcknowledgedWriteRaisesAnAlarmAtEveryPass(t *testing.T) {
	w := newWorld(t)
	id := w.begin()
	w.claim(Args{"runId": id, "stepId": "first", "requestId": ID()})
	w.claim(Args{"runId": w.begin(), "stepId": "first", "requestId": ID()})
	workflowID := workflows.WorkflowID("acme", id)
	_, err := w.c.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: w.Temporal.Namespace, RequestId: ID(), Reason: "test", WorkflowTaskFinishEventId: 4,
		WorkflowExecution:        &commonpb.WorkflowExecution{WorkflowId: workflowID},
		ResetReapplyExcludeTypes: []enumspb.ResetReapplyExcludeType{enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE},
	})
	require.NoError(t, err)
	w.awaitListed(id, "Terminated")
	before, _ := w.stored(id)
	alarms := 0
	w.acts.Alarmed = func(context.Context) { alarms++ }
	for range 2 {
		w.pass()
		require.True(t, w.logged("level=ERROR", "ALARM", id), "the alarm")
	}
	require.GreaterOrEqual(t, alarms, 2, "counted at every pass")
	after, _ := w.stored(id)
	require.Equal(t, before, after, "the record stays as it is")

	// A write that goes on from there closes the gap in numbers, not in fact.
	handle, err := w.c.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateName: "claim", WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{run.Command{
			By: run.Actor{ID: "a2"}, RequestID: ID(), Digest: "00", NotAfter: time.Now().Add(time.Minute),
			Claim: &run.ClaimStep{StepID: "first", Lease: 60},
		}},
	})
	require.NoError(t, err)
	require.NoError(t, handle.Get(t.Context(), nil))
	w.pass()
	require.True(t, w.logged("level=WARN", "was reset", id))
}

func TestARunResetAfterItHadEndedRaisesAnAlarm(t *testing.T) {
	w := newWorld(t)
	id := w.begin()
	Must[run.View](w.Server, Boss, "cancel", Args{"runId": id, "reason": "x", "requestId": ID()})
	workflowID := workflows.WorkflowID("acme", id)
	require.NoError(t, w.c.GetWorkflow(t.Context(), workflowID, "").Get(t.Context(), nil))
	_, err := w.c.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: w.Temporal.Namespace, RequestId: ID(), Reason: "test", WorkflowTaskFinishEventId: 4,
		WorkflowExecution:        &commonpb.WorkflowExecution{WorkflowId: workflowID},
		ResetReapplyExcludeTypes: []enumspb.ResetReapplyExcludeType{enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE},
	})
	require.NoError(t, err)
	w.awaitListed(id, "Running")
	before, _ := w.stored(id)
	_, err = w.env.ExecuteActivity(workflows.ActivityReconcile, workflows.Reconciled{Through: time.Now()})
	require.NoError(t, err)
	require.True(t, w.logged("level=ERROR", "ALARM", "had ended was reset", id))
	after, _ := w.stored(id)
	require.Equal(t, before, after)
}

func TestOpenRecordsAreComparedWithTheirWorkflowsAFewAtATime(t *testing.T) {
	w := newWorld(t)
	ids := []string{w.begin(), w.begin()}
	wrong, _ := w.stored(ids[0])
	w.exec(`UPDATE runs SET record = convert_to(replace(convert_from(record, 'UTF8'), '"active"', '"waiting"'), 'UTF8') WHERE run_id = $1`, ids[0])
	w.pass()
	right, _ := w.stored(ids[0])
	require.Equal(t, string(wrong), string(right), "it is as the workflow has it")
	require.True(t, w.logged("level=WARN", "is now", ids[0], "differs"))
	require.False(t, w.logged("is now", ids[1]))

	// A round goes over all of them, and begins again.
	for range 60 {
		w.begin()
	}
	var last workflows.Reconciled
	rounds := 0
	for first := true; first || last.SweptRun != ""; first = false {
		value, err := w.env.ExecuteActivity(workflows.ActivityReconcile, last)
		require.NoError(t, err)
		last = workflows.Reconciled{}
		require.NoError(t, value.Get(&last))
		rounds++
	}
	require.Equal(t, 2, rounds, "62 open runs, forty at a time")
}

func TestARunThatTemporalDoesNotKnowIsLeftAsItIsAndSaidSo(t *testing.T) {
	w := newWorld(t)
	id := w.begin()
	_, err := w.c.WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: w.Temporal.Namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflows.WorkflowID("acme", id)},
	})
	require.NoError(t, err)
	claim := Args{"runId": id, "stepId": "first", "requestId": ID()}
	require.Eventually(t, func() bool { return w.gone(id) }, 20*time.Second, 20*time.Millisecond)
	_ = w.Refused(run.Retry, A1, "claim", claim)
	w.exec(`UPDATE requests SET not_after = now() - interval '5 minutes' WHERE request_id = $1`, claim["requestId"])
	w.pass()
	_, stored := w.stored(id)
	require.Equal(t, run.Active, stored.State, "it may be in another namespace")
	require.Equal(t, "pending", w.request(claim["requestId"].(string)))
	require.True(t, w.logged("ALARM", id))
}

func TestARunThatDoesNotAnswerHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	id, old := w.begin(), time.Now().Add(-3*time.Minute)
	_, err := w.c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: workflows.WorkflowID("acme", "r_stuck"), TaskQueue: "nobody polls this",
	}, workflows.TypeRun, workflows.Input{})
	require.NoError(t, err)
	first, second := w.reserve("r_stuck", old), w.reserve(id, old.Add(time.Minute))
	w.pass()
	require.Equal(t, "pending", w.request(first))
	require.Equal(t, "none", w.request(second))
	require.True(t, w.logged("not settled yet", "r_stuck"))
}

func (w *world) gone(id string) bool {
	_, err := w.c.DescribeWorkflow(context.Background(), workflows.WorkflowID("acme", id), "")
	var gone *serviceerror.NotFound
	return errors.As(err, &gone)
}

// awaitListed waits until Temporal lists the run's workflow with a status.
func (w *world) awaitListed(id, status string) {
	w.t.Helper()
	query := "WorkflowId = '" + workflows.WorkflowID("acme", id) + "' AND ExecutionStatus = '" + status + "'"
	require.Eventually(w.t, func() bool {
		page, err := w.c.ListWorkflow(w.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		return err == nil && len(page.Executions) > 0
	}, 20*time.Second, 20*time.Millisecond)
}
