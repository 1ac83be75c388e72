package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/mcpclient"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

// crowd has many agents, each with a connection of its own, make a call at the
// same moment.
func crowd(t *testing.T, s *Server, agents int, call func(c *mcpclient.Client, agent int) (mcpclient.Result, error)) []mcpclient.Result {
	t.Helper()
	results := make([]mcpclient.Result, agents)
	clients := make([]*mcpclient.Client, agents)
	for i := range clients {
		var err error
		token := s.TokenOf(identity.Caller{Org: "acme", Subject: fmt.Sprintf("agent-%d", i), Kind: identity.Agent})
		clients[i], err = mcpclient.Dial(t.Context(), s.URL+"/mcp", token)
		require.NoError(t, err)
		t.Cleanup(func() { _ = clients[i].Close() })
	}
	var g errgroup.Group
	start := make(chan struct{})
	for i, c := range clients {
		g.Go(func() (err error) {
			<-start
			results[i], err = call(c, i)
			return err
		})
	}
	close(start)
	require.NoError(t, g.Wait())
	return results
}

func TestOfFiftyAgentsWhoClaimOneStepOneGetsIt(t *testing.T) {
	s := Start(t)
	s.Publish(handover, map[string]string{"role": "finance"})
	for range 3 {
		id := Must[run.View](s, Mira, "start_run", Args{"process": "handover", "inputs": Args{}, "requestId": ID()}).Run.ID
		results := crowd(t, s, 50, func(c *mcpclient.Client, _ int) (mcpclient.Result, error) {
			return c.Call(context.Background(), "claim", Args{"runId": id, "stepId": "work", "requestId": ID()})
		})
		won := 0
		for i, r := range results {
			if r.OK {
				won++
				view := Must[run.View](s, Mira, "get_run", Args{"runId": id})
				require.Equal(t, run.StepClaimed, *view.Steps[0].State)
				done, err := func() (mcpclient.Result, error) {
					var got claimed
					require.NoError(t, json.Unmarshal(r.Data, &got))
					token := s.TokenOf(identity.Caller{Org: "acme", Subject: fmt.Sprintf("agent-%d", i), Kind: identity.Agent})
					c, err := mcpclient.Dial(t.Context(), s.URL+"/mcp", token)
					require.NoError(t, err)
					defer func() { _ = c.Close() }()
					return c.Call(t.Context(), "submit", Args{"token": got.Token, "output": Args{}, "summary": "x", "requestId": ID()})
				}()
				require.NoError(t, err)
				require.True(t, done.OK, "the winner's token works: %v", done.Error)
				continue
			}
			require.Equal(t, run.Conflict, r.Error.Code)
			require.Equal(t, []string{"claimed_by_other"}, r.Error.Issues)
		}
		require.Equal(t, 1, won)
	}
}

const holding = `---
name: holding
description: d.
inputs: { text: string }
steps:
  - { id: work, agent: Do it., next: end }
  - { id: end, finish: done }
---
`

func TestOfTenWritesAtOnceThatTogetherWouldPassTheCapThoseThatFitAreTaken(t *testing.T) {
	const dataCap, each = 64 << 10, 10 << 10
	s := Start(t, func(o *server.Options) { o.RunDataBytes = dataCap })
	s.Publish(holding, nil)
	id := Must[run.View](s, Mira, "start_run", Args{"process": "holding", "inputs": Args{"text": strings.Repeat("x", dataCap-4*each)}, "requestId": ID()}).Run.ID
	var mu sync.Mutex
	held := map[string]bool{}
	send := func(c *mcpclient.Client, i int) (mcpclient.Result, error) {
		name := fmt.Sprintf("e%d", i)
		r, err := c.Call(context.Background(), "send_event", Args{"runId": id, "name": name, "data": Args{"text": strings.Repeat("y", each)}, "requestId": ID()})
		mu.Lock()
		defer mu.Unlock()
		held[name] = r.OK
		return r, err
	}
	taken := 0
	for _, r := range crowd(t, s, 10, send) {
		if r.OK {
			taken++
			continue
		}
		require.Contains(t, []run.Code{run.Invalid, run.NotAccepted}, r.Error.Code)
		require.Contains(t, strings.Join(r.Error.Issues, ";"), fmt.Sprintf("the limit is %d", dataCap))
	}
	require.Equal(t, 3, taken, "three of ten fit")

	// Nothing of those that were refused is there, and the run goes on.
	var record []byte
	require.NoError(t, s.Pool().QueryRow(t.Context(), `SELECT record FROM runs WHERE run_id = $1`, id).Scan(&record))
	var stored run.Record
	require.NoError(t, json.Unmarshal(record, &stored))
	require.Len(t, stored.Held, taken)
	for _, e := range stored.Held {
		require.True(t, held[e.Name], e.Name)
	}
	require.LessOrEqual(t, len(record), 2*dataCap)
	Must[run.View](s, Boss, "cancel", Args{"runId": id, "reason": "x", "requestId": ID()})
}
