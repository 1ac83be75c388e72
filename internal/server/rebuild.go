package server

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"github.com/agentprocess-temporal/server/activities"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/internal/rebuild"
)

// Rebuild makes the read model again from Temporal; see package rebuild. Of the
// options it needs the stores, the payload keys and the log. It serves nobody, and
// needs a server that runs.
func Rebuild(ctx context.Context, o Options, dry bool, report func(activities.Finding)) (_ rebuild.Summary, err error) {
	s := &Server{opts: withDefaults(o), people: newPeople(o)}
	defer func() {
		if s.temporal != nil {
			s.temporal.Close()
		}
		if s.pool != nil {
			s.pool.Close()
		}
	}()
	if s.pool, err = openPool(ctx, s.opts); err != nil {
		return rebuild.Summary{}, err
	}
	if err = postgres.Check(ctx, s.pool); err != nil {
		return rebuild.Summary{}, err
	}
	s.usePayloadKeys()
	TuneClient(&s.opts.Temporal)
	s.opts.Temporal.Logger = tlog.NewStructuredLogger(s.opts.Log)
	if s.temporal, err = client.DialContext(ctx, s.opts.Temporal); err != nil {
		return rebuild.Summary{}, fmt.Errorf("temporal: %w", err)
	}
	r := rebuild.Rebuilder{
		Activities: &activities.Activities{Service: s.newService(), Log: s.opts.Log}, Dry: dry, Report: report,
	}
	return r.Run(ctx)
}
