package server_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"github.com/agentprocess-temporal/server/devstack"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

const (
	deployment = "agentprocess"
	// moves bounds how long Temporal may take to have its routing follow a change.
	moves = 30 * time.Second
)

// fleet are several versions of the server on one namespace and one database. The
// first has no version.
type fleet struct {
	*Server
	t testing.TB
	c client.Client
}

func startFleet(t *testing.T) *fleet {
	f := &fleet{Server: Start(t), t: t}
	var err error
	f.c, err = client.Dial(client.Options{HostPort: f.Temporal.Address, Namespace: f.Temporal.Namespace, Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	t.Cleanup(f.c.Close)
	return f
}

// add starts a further version. It returns what it logs, and what stops it.
func (f *fleet) add(build string) (log *Lines, stop func()) {
	f.t.Helper()
	log = &Lines{}
	o := f.Options
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	o.Addr, o.Deployment, o.BuildID = "127.0.0.1:0", deployment, build
	ctx, cancel := context.WithCancel(context.Background())
	s, err := server.New(ctx, o)
	require.NoError(f.t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			f.t.Errorf("server %s: %v", build, err)
		}
	})
	f.t.Cleanup(stop)
	within, done := context.WithTimeout(ctx, moves)
	defer done()
	require.NoError(f.t, devstack.WaitReady(within, s.URL+"/readyz", nil))
	return log, stop
}

func (f *fleet) says(log *Lines, what string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		lines, _ := log.All()
		return strings.Contains(strings.Join(lines, "\n"), what)
	}, moves, 20*time.Millisecond, what)
}

func (f *fleet) deployment() client.WorkerDeploymentHandle {
	return f.c.WorkerDeploymentClient().GetHandle(deployment)
}

// setCurrent is what an operator does; empty are the workers without a version.
// Temporal must have heard from a version before.
func (f *fleet) setCurrent(build string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		_, err := f.deployment().SetCurrentVersion(context.Background(), client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		if err != nil {
			f.t.Log(err)
		}
		return err == nil
	}, moves, 100*time.Millisecond)
}

func (f *fleet) ramp(build string, percentage float32) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		_, err := f.deployment().SetRampingVersion(context.Background(), client.WorkerDeploymentSetRampingVersionOptions{BuildID: build, Percentage: percentage})
		if err != nil {
			f.t.Log(err)
		}
		return err == nil
	}, moves, 100*time.Millisecond)
}

// versioning is what Temporal says about a workflow.
func (f *fleet) versioning(workflowID, runID string) *workflowpb.WorkflowExecutionVersioningInfo {
	f.t.Helper()
	d, err := f.c.DescribeWorkflow(context.Background(), workflowID, runID)
	require.NoError(f.t, err)
	return d.RawResponse.WorkflowExecutionInfo.VersioningInfo
}

// movesTo writes to a run until a version has carried a write out.
func (f *fleet) movesTo(build, id string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		Must[any](f.Server, A1, "send_event", Args{"runId": id, "name": "news", "data": Args{}, "requestId": ID()})
		v := f.versioning(workflows.WorkflowID("acme", id), "")
		if build != "" && v.GetBehavior() != enumspb.VERSIONING_BEHAVIOR_AUTO_UPGRADE {
			return false
		}
		return v.GetDeploymentVersion().GetBuildId() == build
	}, moves, 50*time.Millisecond, "the run does not go to %q", build)
}

// reconcilesIn has a pass of the reconciler made, and looks who made it.
func (f *fleet) reconcilesIn(build string) {
	f.t.Helper()
	ctx := context.Background()
	schedule := f.c.ScheduleClient().GetHandle(ctx, "agentprocess-reconcile-"+operations.DefaultTaskQueue)
	require.NoError(f.t, schedule.Trigger(ctx, client.ScheduleTriggerOptions{}))
	require.Eventually(f.t, func() bool { // the next one, if one is under way
		d, err := schedule.Describe(ctx)
		require.NoError(f.t, err)
		for _, pass := range d.Info.RecentActions {
			w := pass.StartWorkflowResult
			if v := f.versioning(w.WorkflowID, w.FirstExecutionRunID); v.GetDeploymentVersion().GetBuildId() == build {
				return true
			}
		}
		return false
	}, moves, 50*time.Millisecond)
}

const plain = `---
name: plain
description: d.
steps:
  - { id: work, agent: Do it., output: { text: string }, next: end }
  - { id: end, finish: done }
---
`

func TestAnOpenRunGoesToTheVersionThatIsCurrentAndBack(t *testing.T) {
	f := startFleet(t)
	f.Publish(plain, nil)
	id := Must[run.View](f.Server, Mira, "start_run", Args{"process": "plain", "inputs": Args{}, "requestId": ID()}).Run.ID
	claim := Args{"runId": id, "stepId": "work", "requestId": ID()}
	held := Must[claimed](f.Server, A1, "claim", claim)
	require.Nil(t, f.versioning(workflows.WorkflowID("acme", id), "").GetDeploymentVersion(), "it began without a version")

	log, _ := f.add("one")
	f.says(log, "set-current-version --deployment-name agentprocess --build-id one")
	f.setCurrent("one")
	f.movesTo("one", id)

	log, stopTwo := f.add("two")
	f.says(log, `runsGoTo="build one"`)
	f.ramp("two", 100)
	f.movesTo("two", id)
	f.ramp("", 0)
	f.movesTo("one", id)

	f.setCurrent("two")
	f.movesTo("two", id)
	f.reconcilesIn("two")

	f.setCurrent("one") // two was a mistake
	f.movesTo("one", id)
	stopTwo()
	require.Equal(t, held, Must[claimed](f.Server, A1, "claim", claim), "the claim outlived it all")

	f.setCurrent("") // versioning was a mistake
	f.movesTo("", id)
	f.setCurrent("one")
	log, _ = f.add("one")
	f.says(log, "it has the runs")
	require.Equal(t, "done", *Must[run.View](f.Server, A1, "submit", work(held.Token)).Run.Outcome)
}
