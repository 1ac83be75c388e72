package stack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/examples"
	"github.com/agentprocess-temporal/server/internal/mcpclient"
	"github.com/agentprocess-temporal/server/internal/stack"
)

// longVariable asks for the tests that take minutes (`make long`).
const longVariable = "AGENTPROCESS_LONG"

const (
	openRuns  = 10_000
	callers   = 32
	waitsLong = `---
name: waits-long
description: d.
steps:
  - { id: work, agent: Do it., due: 90d, next: end }
  - { id: end, finish: done }
---
`
)

// resident is the memory of a process, in MiB; -1 where the system does not tell.
func resident(pid int) int {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(raw)
	if err != nil || m == nil {
		return -1
	}
	var kib int
	_, _ = fmt.Sscan(string(m[1]), &kib)
	return kib / 1024
}

func TestTenThousandOpenRunsSurviveARestartOfEverything(t *testing.T) {
	if os.Getenv(longVariable) == "" {
		t.Skip("takes minutes; " + longVariable + "=1 or `make long` runs it")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	// PostgreSQL does not run as root: its user must get through.
	dir, err := os.MkdirTemp("", "agentprocess-many-") //nolint:usetesting // of a name that PostgreSQL can reach
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o711))
	binary := filepath.Join(t.TempDir(), "agentprocess")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "../../cmd/agentprocess")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	defer func() { _ = log.Close() }()
	start := func() *stack.Stack {
		t.Helper()
		st, err := stack.Start(ctx, stack.Options{
			Dir: dir, Addr: "127.0.0.1:0", DefaultDirectory: examples.Directory, Binary: binary, Log: log, Progress: io.Discard,
		})
		require.NoError(t, err)
		return st
	}

	st := start()
	boss := st.Info.Tokens["person:ops@example.com"]
	for _, call := range [][2]string{{"/processes", waitsLong}, {"/processes/waits-long/publish", ""}} {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, st.Info.API+call[0], strings.NewReader(call[1]))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+boss)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		_ = res.Body.Close()
		require.Less(t, res.StatusCode, 300)
	}
	began := time.Now()
	calls(t, ctx, st, openRuns, "start_run", func(int) map[string]any {
		return map[string]any{"process": "waits-long", "inputs": map[string]any{}, "requestId": uuid.NewString()}
	})
	t.Logf("%d runs started in %s; server %d MiB, Temporal %d MiB", openRuns, time.Since(began).Round(time.Second), resident(st.Server.Pid()), resident(st.Temporal.PID()))
	st.Stop()

	began = time.Now()
	st = start()
	defer st.Stop()
	ready := time.Since(began)
	began = time.Now()
	c, err := mcpclient.Dial(ctx, st.Info.MCP, st.Info.Tokens["agent:a1"])
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	var ids []string
	for cursor := ""; len(ids) < openRuns; {
		args := map[string]any{"limit": 100}
		if cursor != "" {
			args["cursor"] = cursor
		}
		r, err := c.Call(ctx, "get_work", args)
		require.NoError(t, err)
		require.True(t, r.OK, "%v", r.Error)
		var page struct {
			Items      []struct{ RunID string }
			NextCursor *string
		}
		require.NoError(t, json.Unmarshal(r.Data, &page))
		for _, item := range page.Items {
			ids = append(ids, item.RunID)
		}
		if page.NextCursor == nil {
			break
		}
		cursor = *page.NextCursor
	}
	require.Len(t, ids, openRuns)
	listed := time.Since(began)
	began = time.Now()
	const some = 500
	calls(t, ctx, st, some, "claim", func(i int) map[string]any {
		return map[string]any{"runId": ids[i*openRuns/some], "stepId": "work", "requestId": uuid.NewString()}
	})
	t.Logf("after the restart of everything: ready in %s; all %d steps listed in %s; %d of the runs claimed in %s; server %d MiB, Temporal %d MiB",
		ready.Round(100*time.Millisecond), openRuns, listed.Round(time.Millisecond), some, time.Since(began).Round(time.Millisecond),
		resident(st.Server.Pid()), resident(st.Temporal.PID()))
}

// calls makes so many calls, many at once, all of which must succeed.
func calls(t *testing.T, ctx context.Context, st *stack.Stack, n int, tool string, args func(int) map[string]any) {
	t.Helper()
	g, ctx := errgroup.WithContext(ctx)
	for caller := range callers {
		g.Go(func() error {
			c, err := mcpclient.Dial(ctx, st.Info.MCP, st.Info.Tokens["agent:a1"])
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			for i := caller; i < n; i += callers {
				a := args(i)
				for try := 0; ; try++ { // the rate of one caller is bounded
					r, err := c.Call(ctx, tool, a)
					if err != nil {
						return err
					}
					if r.OK {
						break
					}
					if r.Error.Code != "retry" || try == 200 {
						return r.Error
					}
					time.Sleep(50 * time.Millisecond)
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
}
