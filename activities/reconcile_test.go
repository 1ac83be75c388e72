package activities_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

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
	w.Refused(run.Retry, A1, "claim", Args{"runId": id, "stepId": "first", "requestId": ID()})

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
	reset, err := w.c.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: w.Temporal.Namespace, RequestId: ID(), Reason: "test", WorkflowTaskFinishEventId: 4,
		WorkflowExecution:        &commonpb.WorkflowExecution{WorkflowId: workflowID},
		ResetReapplyExcludeTypes: []enumspb.ResetReapplyExcludeType{enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE},
	})
	require.NoError(t, err)
	w.awaitListed(id, "Terminated")
	before, _ := w.stored(id)
	for range 2 {
		w.pass()
		require.True(t, w.logged("level=ERROR", "ALARM", id), "the alarm")
	}
	after, _ := w.stored(id)
	require.Equal(t, before, after, "the record stays as it is")
	d, err := w.c.DescribeWorkflow(t.Context(), workflowID, reset.RunId)
	require.NoError(t, err)
	t.Log(d.RawResponse.WorkflowExtendedInfo, d.RawResponse.WorkflowExecutionInfo)
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
