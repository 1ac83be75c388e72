package server

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// deploymentOptions put the worker into its version, if it has one. Runs, and the
// passes of the reconciler, move to the deployment's current version with their
// next task: docs/decisions/0013-versioning.md says why none is pinned.
func (o *Options) deploymentOptions() worker.DeploymentOptions {
	if o.Deployment == "" {
		return worker.DeploymentOptions{}
	}
	return worker.DeploymentOptions{
		UseVersioning:             true,
		Version:                   worker.WorkerDeploymentVersion{DeploymentName: o.Deployment, BuildID: o.BuildID},
		DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
	}
}

// askAgain is how often Temporal is asked for a deployment that it does not know
// yet: it learns of one when the first worker polls.
const askAgain = time.Second

// sayWhoServes logs, once, which version of the worker has the runs, and how to
// give them to this one. A server whose version is not current answers its callers
// all the same: the current version's workers carry their writes out.
func (s *Server) sayWhoServes(ctx context.Context) {
	if s.opts.Deployment == "" {
		return
	}
	log := s.opts.Log.With("deployment", s.opts.Deployment, "buildId", s.opts.BuildID)
	handle := s.temporal.WorkerDeploymentClient().GetHandle(s.opts.Deployment)
	for {
		d, err := handle.Describe(ctx, client.WorkerDeploymentDescribeOptions{})
		var unknown *serviceerror.NotFound
		switch {
		case err == nil:
			current := d.Info.RoutingConfig.CurrentVersion
			if current != nil && current.BuildID == s.opts.BuildID {
				log.InfoContext(ctx, "this version of the worker is current: it has the runs")
				return
			}
			has := "workers without a version"
			if current != nil {
				has = "build " + current.BuildID
			}
			log.WarnContext(ctx, "this version of the worker is not current: runs go to others, if there are any", "runsGoTo", has,
				"makeCurrent", "temporal worker deployment set-current-version --deployment-name "+s.opts.Deployment+" --build-id "+s.opts.BuildID)
			return
		case !errors.As(err, &unknown):
			log.WarnContext(ctx, "which version of the worker has the runs is not known", "error", err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(askAgain):
		}
	}
}
