package payloadcodec_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/agentprocess-temporal/server/internal/payloadcodec"
	"github.com/agentprocess-temporal/server/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const secret = "Northwind"

func dial(t *testing.T, at testenv.Target, codec converter.PayloadCodec) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{
		HostPort: at.Address, Namespace: at.Namespace,
		DataConverter: payloadcodec.DataConverter(codec), FailureConverter: payloadcodec.FailureConverter(codec),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// echo answers one update and leaves its secret in every place of a history
// that takes user data.
func echo(ctx workflow.Context, in string) (string, error) {
	var told string
	err := workflow.SetUpdateHandler(ctx, "tell", func(_ workflow.Context, s string) (string, error) {
		told = s
		return "told " + s, nil
	})
	if err != nil {
		return "", err
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, Summary: "about " + in, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	failed := workflow.ExecuteActivity(ctx, "fail", in).Get(ctx, nil)
	if err := workflow.Await(ctx, func() bool { return told != "" }); err != nil {
		return "", err
	}
	return in + told, failed
}

func startWorker(t *testing.T, c client.Client) worker.Worker {
	t.Helper()
	w := worker.New(c, "q", worker.Options{})
	w.RegisterWorkflowWithOptions(echo, workflow.RegisterOptions{Name: "echo"})
	w.RegisterActivityWithOptions(func(_ context.Context, in string) error {
		return temporal.NewNonRetryableApplicationError("cannot reach "+in, "Unreachable", nil, in)
	}, activity.RegisterOptions{Name: "fail"})
	require.NoError(t, w.Start())
	return w
}

func history(t *testing.T, c client.Client, id string) string {
	t.Helper()
	var all []byte
	events := c.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		data, err := proto.Marshal(e)
		require.NoError(t, err)
		all = append(all, data...)
	}
	return string(all)
}

func run(t *testing.T, c client.Client, workerClient client.Client) (client.WorkflowRun, error) {
	t.Helper()
	wf, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		TaskQueue: "q", StaticSummary: "summary " + secret, StaticDetails: "details " + secret, Memo: map[string]any{"m": secret},
	}, "echo", secret)
	require.NoError(t, err)
	w := startWorker(t, workerClient)
	defer w.Stop()
	u, err := workerClient.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: wf.GetID(), UpdateName: "tell", Args: []any{secret}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	require.NoError(t, err)
	var answer string
	require.NoError(t, u.Get(t.Context(), &answer))
	require.Equal(t, "told "+secret, answer)
	return wf, workerClient.GetWorkflow(t.Context(), wf.GetID(), "").Get(t.Context(), nil)
}

func TestAHistoryHoldsNothingInClear(t *testing.T) {
	at := testenv.Temporal(t)
	secured := dial(t, at, payloadcodec.New(keys(t, "k1:"+b64(key1))))
	wf, err := run(t, secured, secured)
	require.ErrorContains(t, err, "cannot reach "+secret, "and its own clients read it")

	text := history(t, secured, wf.GetID())
	require.Contains(t, text, payloadcodec.Encoding)
	require.NotContains(t, text, secret)
	d, err := secured.DescribeWorkflow(t.Context(), wf.GetID(), "")
	require.NoError(t, err)
	data, err := proto.Marshal(d.RawResponse)
	require.NoError(t, err)
	require.NotContains(t, string(data), secret)
}

func TestARunFromBeforeEncryptionGoesOn(t *testing.T) {
	at := testenv.Temporal(t)
	open, secured := dial(t, at, nil), dial(t, at, payloadcodec.New(keys(t, "k1:"+b64(key1))))
	wf, err := run(t, open, secured)
	require.ErrorContains(t, err, "cannot reach "+secret)
	text := history(t, secured, wf.GetID())
	require.Contains(t, text, secret, "what was written before stays as it was")
	require.Contains(t, text, payloadcodec.Encoding)
}

func TestAWorkerWithoutTheKeyDelaysARunAndDoesNotEndIt(t *testing.T) {
	at := testenv.Temporal(t)
	secured := dial(t, at, payloadcodec.New(keys(t, "k1:"+b64(key1))))
	wrong := dial(t, at, payloadcodec.New(keys(t, "k2:"+b64(key2))))
	wf, err := secured.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: "q"}, "echo", secret)
	require.NoError(t, err)
	w := startWorker(t, wrong)
	events := secured.GetWorkflowHistory(t.Context(), wf.GetID(), "", true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for failed := false; !failed; {
		require.True(t, events.HasNext())
		e, err := events.Next()
		require.NoError(t, err)
		require.NotEqual(t, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, e.EventType)
		failed = e.EventType == enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED
	}
	w.Stop()
	d, err := secured.DescribeWorkflow(t.Context(), wf.GetID(), "")
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, d.Status)
}
