package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/agentprocess-temporal/server/files"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/faults/link"
	"github.com/agentprocess-temporal/server/internal/mcpclient"
	"github.com/agentprocess-temporal/server/internal/server"
	"github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	// inTime is within what a write that cannot be done now is answered: the
	// server's own 15 seconds, and some.
	inTime = 18 * time.Second
	// poolSize is how many connections a server opens at most.
	poolSize = 32
)

// broken is a server behind links of its own to Postgres and to Temporal.
type broken struct {
	*servertest.Server
	t                  *testing.T
	postgres, temporal *link.Link
}

func startBroken(t *testing.T, adjust ...func(*server.Options)) *broken {
	t.Helper()
	b := &broken{t: t}
	var hidden []*link.Listener
	hide := func(addr string) (string, *link.Link) {
		l := link.New(func() string { return addr })
		front, err := link.Listen(l)
		require.NoError(t, err)
		hidden = append(hidden, front)
		return front.Addr, l
	}
	t.Cleanup(func() {
		for _, front := range hidden {
			front.Close()
		}
	})
	b.Server = servertest.Start(t, append([]func(*server.Options){func(o *server.Options) {
		dsn, err := url.Parse(o.Postgres)
		require.NoError(t, err)
		dsn.Host, b.postgres = hide(dsn.Host)
		o.Postgres = dsn.String()
		o.Temporal.HostPort, b.temporal = hide(o.Temporal.HostPort)
	}}, adjust...)...)
	t.Cleanup(func() { // before the server stops
		b.postgres.Heal()
		b.temporal.Heal()
	})
	return b
}

// begin starts a run with a ready agent step.
func (b *broken) begin() string {
	b.t.Helper()
	b.Publish(sources["quick"], nil)
	return servertest.Must[run.View](b.Server, servertest.A1, "start_run", args{
		"process": "quick", "inputs": args{"marker": "m"}, "requestId": servertest.ID(),
	}).Run.ID
}

func claimOf(id string) args {
	return args{"runId": id, "stepId": "only", "requestId": servertest.ID()}
}

// unready returns what /readyz says is wrong.
func (b *broken) unready() map[string]string {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.URL+"/readyz", nil)
	require.NoError(b.t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(b.t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	require.NoError(b.t, res.Body.Close())
	var answer struct{ Problems map[string]string }
	require.NoError(b.t, json.Unmarshal(text, &answer))
	require.Equal(b.t, len(answer.Problems) > 0, res.StatusCode == http.StatusServiceUnavailable, "%s: %s", res.Status, text)
	return answer.Problems
}

// retryInTime makes a write that must be answered `retry`, and soon enough.
func (b *broken) retryInTime(tool string, a args) {
	b.t.Helper()
	began := time.Now()
	_ = b.Refused(run.Retry, servertest.A1, tool, a)
	took := time.Since(began)
	require.Less(b.t, took, inTime)
	b.t.Logf("%s was answered `retry` after %v", tool, took.Round(time.Millisecond))
}

// held is the run as its workflow holds it.
func (b *broken) held(id string) *run.Run {
	b.t.Helper()
	c, err := client.Dial(client.Options{HostPort: b.Temporal.Address, Namespace: b.Temporal.Namespace})
	require.NoError(b.t, err)
	defer c.Close()
	value, err := c.QueryWorkflow(b.t.Context(), workflows.WorkflowID(org, id), "", workflows.QueryRun)
	require.NoError(b.t, err)
	var raw json.RawMessage
	require.NoError(b.t, value.Get(&raw))
	r := new(run.Run)
	require.NoError(b.t, json.Unmarshal(raw, r))
	return r
}

// stored is the sequence number of a run's record, and how many reservations
// are pending.
func (b *broken) stored(id string) (seq int64, pending int) {
	b.t.Helper()
	require.NoError(b.t, b.Pool().QueryRow(b.t.Context(),
		`SELECT seq, (SELECT count(*) FROM requests WHERE NOT done) FROM runs WHERE run_id = $1`, id).Scan(&seq, &pending))
	return seq, pending
}

func TestWithTemporalAwayReadsGoOnAndWritesAreToBeSentAgain(t *testing.T) {
	b := startBroken(t)
	id := b.begin()
	b.temporal.Cut()
	require.Equal(t, []string{"temporal"}, sortedKeys(b.unready()))
	view := servertest.Must[run.View](b.Server, servertest.A1, "get_run", args{"runId": id})
	require.Equal(t, run.Active, view.Run.State)
	work := servertest.Must[struct{ Items []run.AgentWork }](b.Server, servertest.A1, "get_work", args{})
	require.Len(t, work.Items, 1)
	claim := claimOf(id)
	start := args{"process": "quick", "inputs": args{"marker": "n"}, "requestId": servertest.ID()}
	var both sync.WaitGroup
	both.Go(func() { b.retryInTime("claim", claim) })
	both.Go(func() { b.retryInTime("start_run", start) })
	both.Wait()

	b.temporal.Heal()
	require.Eventually(t, func() bool { return len(b.unready()) == 0 }, time.Minute, 100*time.Millisecond)
	servertest.Must[claimed](b.Server, servertest.A1, "claim", claim)
	servertest.Must[run.View](b.Server, servertest.A1, "start_run", start)
	require.EqualValues(t, 1, b.held(id).Claims)
}

func TestWithPostgresAwayNothingIsDone(t *testing.T) {
	b := startBroken(t)
	id := b.begin()
	before := b.held(id).Seq
	b.postgres.Cut()
	require.Equal(t, []string{"postgres"}, sortedKeys(b.unready()))
	claim := claimOf(id)
	b.retryInTime("claim", claim)
	b.retryInTime("get_run", args{"runId": id})
	require.Equal(t, before, b.held(id).Seq, "the run was not asked")

	b.postgres.Heal()
	require.Empty(t, b.unready())
	servertest.Must[claimed](b.Server, servertest.A1, "claim", claim)
	require.EqualValues(t, 1, b.held(id).Claims)
}

func TestWhatTheRunHasDoneWhilePostgresWentAwayIsDoneOnce(t *testing.T) {
	var b *broken
	var once sync.Once
	b = startBroken(t, func(o *server.Options) {
		o.Observe = func(_ context.Context, tool, stage string, _ time.Duration) {
			if tool == "claim" && stage == operations.StageUpdate {
				once.Do(func() { b.postgres.Cut() })
			}
		}
	})
	id := b.begin()
	claim := claimOf(id)
	b.retryInTime("claim", claim)
	seq, pending := b.stored(id)
	require.Equal(t, 1, pending, "its reservation stays")
	held := b.held(id)
	require.Equal(t, seq+1, held.Seq, "the run has carried it out")

	b.postgres.Heal()
	first := servertest.Must[claimed](b.Server, servertest.A1, "claim", claim)
	require.Equal(t, first.Token, servertest.Must[claimed](b.Server, servertest.A1, "claim", claim).Token)
	require.EqualValues(t, 1, b.held(id).Claims)
	seq, pending = b.stored(id)
	require.Zero(t, pending)
	require.Equal(t, held.Seq, seq)
}

func TestASlowPostgresPilesNothingUp(t *testing.T) {
	b := startBroken(t)
	id := b.begin()
	servertest.Must[run.View](b.Server, servertest.A1, "get_run", args{"runId": id})
	before := runtime.NumGoroutine()
	b.postgres.Delay(150 * time.Millisecond)
	const callers, each = 80, 3
	c, err := mcpclient.Dial(t.Context(), b.URL+"/mcp", b.Token(servertest.A1))
	require.NoError(t, err)
	var calling sync.WaitGroup
	var mu sync.Mutex
	var slowest time.Duration
	for range callers {
		calling.Go(func() {
			for range each {
				began := time.Now()
				_, err := c.Call(context.Background(), "get_run", args{"runId": id})
				mu.Lock()
				if err != nil {
					t.Errorf("get_run: %v", err)
				}
				slowest = max(slowest, time.Since(began))
				mu.Unlock()
			}
		})
	}
	stop, most := make(chan struct{}), make(chan int)
	go func() {
		open := 0
		for {
			open = max(open, b.postgres.Open())
			select {
			case <-stop:
				most <- open
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	calling.Wait()
	close(stop)
	open := <-most
	require.LessOrEqual(t, open, poolSize)
	require.Less(t, slowest, inTime)
	b.postgres.Heal()
	require.NoError(t, c.Close()) // the callers' own connections
	after := 0
	for range 200 {
		if after = runtime.NumGoroutine(); after < before+4*poolSize { // links have four for a connection
			break
		}
		pause(t.Context(), 100*time.Millisecond)
	}
	require.Less(t, after, before+4*poolSize, "there were %d goroutines before", before)
	t.Logf("%d calls, the slowest took %v, with %d connections at most; %d goroutines before, %d after",
		callers*each, slowest.Round(time.Millisecond), open, before, after)
}

func TestWithNoWorkerReadsGoOnAndWritesAreToBeSentAgain(t *testing.T) {
	b := startBroken(t)
	id := b.begin()
	b.Stop() // and with it the only worker: what follows is a front end alone
	c, err := client.Dial(client.Options{HostPort: b.Temporal.Address, Namespace: b.Temporal.Namespace})
	require.NoError(t, err)
	defer c.Close()
	front := &operations.Service{
		Config: operations.Config{
			Lease: time.Minute, RunDataBytes: operations.DefaultRunDataBytes, MaxUploadBytes: operations.DefaultMaxUploadBytes,
			Namespace: b.Temporal.Namespace, TaskQueue: operations.DefaultTaskQueue,
		},
		Pool: b.Pool(), Temporal: c, Tokens: b.Options.Keys, Secret: b.Options.Secret,
		Links: files.Links{Base: "http://localhost", Ring: b.Options.Keys}, People: identity.PeopleOf(b.Directory), Log: slog.New(slog.DiscardHandler),
	}
	who, ok := b.Directory.Caller(servertest.A1)
	require.True(t, ok)
	call := func(tool string, a args) (json.RawMessage, *run.Error) {
		raw, err := json.Marshal(a)
		require.NoError(t, err)
		return front.Call(t.Context(), who, tool, raw)
	}
	_, refused := call("get_run", args{"runId": id})
	require.Nil(t, refused)
	claim := claimOf(id)
	began := time.Now()
	_, refused = call("claim", claim)
	require.NotNil(t, refused)
	require.Equal(t, run.Retry, refused.Code)
	require.Less(t, time.Since(began), inTime)
	_, pending := b.stored(id)
	require.Equal(t, 1, pending, "the run may yet carry it out")

	b.Run()
	_, refused = call("claim", claim)
	require.Nil(t, refused)
	_, pending = b.stored(id)
	require.Zero(t, pending)
	require.EqualValues(t, 1, b.held(id).Claims)
}

// A reservation does not wait for the disk, so one may be lost with the Postgres
// that had it, and with it the memory of who made the write.
func TestACallerIsNotToldThatItsOwnWriteWasSomebodyElses(t *testing.T) {
	b := startBroken(t)
	b.Publish("---\nname: asked\ndescription: d.\nsteps:\n  - { id: ask, person: who, approve: Yes?, next: work }\n"+
		"  - { id: work, agent: Work., next: done }\n  - { id: done, finish: done }\n---\n", map[string]string{"who": "finance"})
	view := servertest.Must[run.View](b.Server, servertest.A1, "start_run", args{"process": "asked", "inputs": args{}, "requestId": servertest.ID()})
	item := view.WorkItems[0]
	decide := args{"runId": view.Run.ID, "workItemId": item.ID, "snapshot": item.Snapshot, "decision": "approved", "requestId": servertest.ID()}
	servertest.Must[run.View](b.Server, servertest.Mira, "decide", decide)
	_, err := b.Pool().Exec(t.Context(), `DELETE FROM requests WHERE request_id = $1`, decide["requestId"])
	require.NoError(t, err)
	servertest.Must[run.View](b.Server, servertest.Mira, "decide", decide)
	decide["requestId"] = servertest.ID()
	require.Equal(t, []string{"already_decided"}, b.Refused(run.Conflict, servertest.Mira, "decide", decide).Issues)
}
