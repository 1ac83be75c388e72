package testenv_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/agentprocess-temporal/server/internal/testenv"
)

var (
	stepKey    = temporal.NewSearchAttributeKeyKeyword("TestStep")
	overdueKey = temporal.NewSearchAttributeKeyBool("TestOverdue")
)

func registerAttributes(ctx context.Context, address, namespace string) error {
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: namespace})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: map[string]enumspb.IndexedValueType{
			stepKey.GetName():    enumspb.INDEXED_VALUE_TYPE_KEYWORD,
			overdueKey.GetName(): enumspb.INDEXED_VALUE_TYPE_BOOL,
		},
	})
	return err
}

func TestANewNamespaceTakesWorkflowsAndSearchAttributesAtOnce(t *testing.T) {
	for range 5 {
		target := testenv.Temporal(t, registerAttributes)
		c, err := client.Dial(client.Options{HostPort: target.Address, Namespace: target.Namespace})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		w := worker.New(c, "q", worker.Options{})
		w.RegisterWorkflowWithOptions(func(ctx workflow.Context) (int32, error) {
			err := workflow.UpsertTypedSearchAttributes(ctx, stepKey.ValueSet("review"), overdueKey.ValueSet(true))
			return workflow.GetInfo(ctx).Attempt, err
		}, workflow.RegisterOptions{Name: "w"})
		require.NoError(t, w.Start())
		run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: "q"}, "w")
		require.NoError(t, err)
		require.NoError(t, run.Get(t.Context(), nil))
		events := c.GetWorkflowHistory(t.Context(), run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			require.NoError(t, err)
			require.NotEqual(t, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, e.EventType, "no workflow task has to be tried again")
		}
		w.Stop()
	}
}

func TestEachTestGetsANamespaceOfItsOwn(t *testing.T) {
	one, other := testenv.Temporal(t), testenv.Temporal(t)
	require.Equal(t, one.Address, other.Address)
	require.NotEqual(t, one.Namespace, other.Namespace)
}

func TestAFailingSetupFailsTheTest(t *testing.T) {
	inner := &failing{TB: t}
	func() {
		defer func() { _ = recover() }()
		testenv.Temporal(inner, func(context.Context, string, string) error { return errors.New("no") })
	}()
	require.True(t, inner.failed)
}

// failing catches a failure instead of ending the test.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Errorf(string, ...any) {}
func (f *failing) FailNow()              { f.failed = true; panic("failed") }

func BenchmarkTemporal(b *testing.B) {
	testenv.Temporal(b)
	for b.Loop() {
		testenv.Temporal(b, registerAttributes)
	}
}
