package workflows_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/agentprocess-temporal/server/workflows"
)

// histories has the first set, and a folder for each later one.
const histories = "testdata/histories"

func savedHistories(t testing.TB) []string {
	files, err := filepath.Glob(filepath.Join(histories, "*.json"))
	require.NoError(t, err)
	later, err := filepath.Glob(filepath.Join(histories, "*", "*.json"))
	require.NoError(t, err)
	return append(files, later...)
}

func TestEveryKindOfRunHasASavedHistory(t *testing.T) {
	saved := map[string]bool{}
	for _, file := range savedHistories(t) {
		saved[filepath.Base(file)] = true
	}
	for _, name := range append(slices.Collect(maps.Keys(plays)), reconcilePass) {
		require.True(t, saved[name+"-1.json"], "%s has none: record a new set with make histories SET=name", name)
	}
}

func replay(t testing.TB, file string, run any) error {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var h historypb.History
	require.NoError(t, temporalproto.CustomJSONUnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, &h))
	replayer := worker.NewWorkflowReplayer()
	replayer.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: workflows.TypeRun})
	replayer.RegisterWorkflowWithOptions(workflows.Reconcile, workflow.RegisterOptions{Name: workflows.TypeReconcile})
	return replayer.ReplayWorkflowHistory(quiet, &h)
}

// Runs outlive deploys. When this fails, a change to workflow code would break
// the runs that are under way: it has to go through workflow.GetVersion.
func TestSavedHistoriesReplay(t *testing.T) {
	for _, file := range savedHistories(t) {
		name, err := filepath.Rel(histories, file)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			require.NoError(t, replay(t, file, workflows.ProcessRun))
		})
	}
}

func TestAChangedWorkflowIsCaughtByReplay(t *testing.T) {
	changes := map[string]func(workflow.Context, workflows.Input) (workflows.Result, error){
		"a timer that was not there": func(ctx workflow.Context, in workflows.Input) (workflows.Result, error) {
			workflow.NewTimer(ctx, time.Hour)
			return workflows.ProcessRun(ctx, in)
		},
		"a side effect that was not there": func(ctx workflow.Context, in workflows.Input) (workflows.Result, error) {
			workflow.SideEffect(ctx, func(workflow.Context) any { return 1 })
			return workflows.ProcessRun(ctx, in)
		},
		"an activity that is gone": func(ctx workflow.Context, in workflows.Input) (workflows.Result, error) {
			if in.Start != nil {
				in.Start.Mode = "test" // which tells nobody
			}
			return workflows.ProcessRun(ctx, in)
		},
		"another process": func(ctx workflow.Context, in workflows.Input) (workflows.Result, error) {
			if in.Start != nil {
				in.Start.Process.Steps[0].ID = "changed"
			}
			return workflows.ProcessRun(ctx, in)
		},
	}
	file := filepath.Join(histories, "rejection-1.json")
	require.NoError(t, replay(t, file, workflows.ProcessRun))
	for name, changed := range changes {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, replay(t, file, changed), "[TMPRL1100]", "Temporal's code for it")
		})
	}
}
