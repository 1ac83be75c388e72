package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/activities"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

// deletes deletes a run.
func (s *stores) deletes(token, id string) error {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodDelete, s.URL+"/api/runs/"+id, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNoContent {
		return fmt.Errorf("delete %s: %s", id, res.Status)
	}
	return nil
}

func TestARunThatWasTerminatedAndDeletedStaysDeleted(t *testing.T) {
	s := startStores(t)
	id := s.begin()
	require.NoError(t, s.c.TerminateWorkflow(t.Context(), workflows.WorkflowID("acme", id), "", "x"))
	s.rebuilt(false)
	require.Equal(t, run.Cancelled, Must[run.View](s.Server, Mira, "get_run", Args{"runId": id}).Run.State)
	require.NoError(t, s.deletes(s.Token(Boss), id))
	s.rebuilt(false)
	require.Empty(t, s.rows("runs"))
}

func TestARunThatIsDeletedDuringARebuildStaysDeleted(t *testing.T) {
	s := startStores(t)
	var runs []string
	for range 40 {
		id := s.begin()
		Must[run.View](s.Server, Boss, "cancel", Args{"runId": id, "reason": "x", "requestId": ID()})
		runs = append(runs, id)
	}
	token := s.Token(Boss)
	o := server.Options{Postgres: s.DSN, Temporal: client.Options{HostPort: s.Temporal.Address, Namespace: s.Temporal.Namespace}, Log: slog.New(slog.DiscardHandler)}
	rebuilding, stop := context.WithCancel(t.Context())
	var rebuilds errgroup.Group
	rebuilds.Go(func() error {
		for rebuilding.Err() == nil {
			if _, err := server.Rebuild(context.WithoutCancel(rebuilding), o, false, func(f activities.Finding) { t.Log(f.RunID, f.Found, f.Mended, f.Detail) }); err != nil {
				return err
			}
		}
		return nil
	})
	var g errgroup.Group
	g.SetLimit(8)
	for _, id := range runs {
		g.Go(func() error { return s.deletes(token, id) })
	}
	require.NoError(t, g.Wait())
	stop()
	require.NoError(t, rebuilds.Wait())
	require.Empty(t, s.rows("runs"))
}
