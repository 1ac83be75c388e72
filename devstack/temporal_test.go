//go:build unix

package devstack

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
)

func startTemporal(t *testing.T, opts TemporalOptions) *Temporal {
	t.Helper()
	s, err := StartTemporal(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return s
}

func dialTemporal(t *testing.T, s *Temporal) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: s.Address, Logger: silent{}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestTemporalGoesOnWhereItWasAlsoAfterItWasKilled(t *testing.T) {
	dir := t.TempDir()
	s := startTemporal(t, TemporalOptions{Dir: dir, SearchAttributes: map[string]string{"One": "Keyword"}})
	res := get(t, s.UI)
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.NoError(t, res.Body.Close())
	run, err := dialTemporal(t, s).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "kept", TaskQueue: "q"}, "w")
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(s.PID(), syscall.SIGKILL))
	<-s.Done()
	s.Stop()

	again := startTemporal(t, TemporalOptions{Dir: dir, Headless: true, SearchAttributes: map[string]string{"One": "Keyword", "Two": "Datetime"}})
	require.Empty(t, again.UI)
	c := dialTemporal(t, again)
	d, err := c.DescribeWorkflow(t.Context(), "kept", "")
	require.NoError(t, err)
	require.Equal(t, run.GetRunID(), d.WorkflowExecution.RunID)
	have, err := c.OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: DefaultNamespace})
	require.NoError(t, err)
	require.Equal(t, enumspb.INDEXED_VALUE_TYPE_KEYWORD, have.CustomAttributes["One"])
	require.Equal(t, enumspb.INDEXED_VALUE_TYPE_DATETIME, have.CustomAttributes["Two"], "what a kept database lacks is added")
	again.Stop()
	again.Stop()

	_, err = StartTemporal(t.Context(), TemporalOptions{Dir: dir, Headless: true, SearchAttributes: map[string]string{"One": "Bool"}})
	require.ErrorContains(t, err, "One is a Keyword, not a Bool")
}

func TestTwoTemporalRunSideBySideButNotOnOneDirectory(t *testing.T) {
	l, err := net.Listen("tcp", address(0))
	require.NoError(t, err)
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port

	dir := t.TempDir()
	a := startTemporal(t, TemporalOptions{Dir: dir, Memory: true, Port: taken, UIPort: taken, MetricsPort: taken})
	b := startTemporal(t, TemporalOptions{Memory: true, Headless: true})
	require.NotEqual(t, address(taken), a.Address)
	require.NotContains(t, a.UI, address(taken))
	require.NotEqual(t, a.Address, b.Address)

	_, err = StartTemporal(t.Context(), TemporalOptions{Dir: dir, Memory: true, Headless: true})
	var inUse *InUseError
	require.ErrorAs(t, err, &inUse)
	require.Equal(t, os.Getpid(), inUse.PID)
}

func TestTemporalThatEndsEarlyIsQuoted(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "temporal")
	require.NoError(t, os.WriteFile(bin, []byte("#!/bin/sh\necho 'no such flag' >&2\nexit 4\n"), 0o755))
	_, err := StartTemporal(t.Context(), TemporalOptions{Memory: true, Headless: true, Binary: bin})
	require.ErrorContains(t, err, "exit status 4")
	require.ErrorContains(t, err, "no such flag")
}

// fakeTools puts commands of these names, shell scripts, alone on PATH, and
// gives the user an empty cache.
func fakeTools(t *testing.T, scripts map[string]string) (cache string) {
	t.Helper()
	bin, home := t.TempDir(), t.TempDir()
	for name, script := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o755))
	}
	t.Setenv("PATH", bin)
	t.Setenv(envTemporal, "")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
	cache, err := cacheDir("")
	require.NoError(t, err)
	return cache
}

func TestTemporalOnPathIsTakenIfRecent(t *testing.T) {
	cache := fakeTools(t, map[string]string{"temporal": "echo 'temporal version 9.9.9 (Server 1.30.1, UI 2.0.0)'"})
	path, err := findTemporal(t.Context(), "", "", nil)
	require.NoError(t, err)
	require.Equal(t, "temporal", filepath.Base(path))

	t.Setenv("PATH", filepath.Dir(path))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho 'temporal version 0.1.0 (Server 1.20.0, UI 2.0.0)'\n"), 0o755))
	cached := filepath.Join(cache, "temporal-"+TemporalVersion)
	require.NoError(t, os.WriteFile(cached, nil, 0o755))
	path, err = findTemporal(t.Context(), "", "", nil)
	require.NoError(t, err)
	require.Equal(t, cached, path, "an old one on PATH is passed over")
}

func TestTemporalIsBuiltOnceForAllWhoNeedIt(t *testing.T) {
	cache := fakeTools(t, map[string]string{"go": `
echo "go: downloading example.com/m v1" >&2
echo example.com/m/p >&2
echo built >> "$HOME/count"
/bin/sleep 0.3
echo '#!/bin/sh' > "$GOBIN/temporal"
/bin/chmod +x "$GOBIN/temporal"
`})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			var log bytes.Buffer
			path, err := findTemporal(t.Context(), "", "", &log)
			if err != nil || path != filepath.Join(cache, "temporal-"+TemporalVersion) {
				t.Errorf("got %q, %v", path, err)
			}
			if s := log.String(); !strings.Contains(s, "building") && !strings.Contains(s, "waiting for process") {
				t.Errorf("no progress: %q", s)
			}
		})
	}
	wg.Wait()
	count, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), "count"))
	require.NoError(t, err)
	require.Equal(t, "built\n", string(count))
	entries, err := os.ReadDir(cache)
	require.NoError(t, err)
	require.Len(t, entries, 2, "the command and the lock, and nothing half built")
}

func TestAFailedBuildSaysWhy(t *testing.T) {
	fakeTools(t, map[string]string{"go": "echo 'dial tcp: lookup proxy: no such host' >&2; exit 1"})
	_, err := findTemporal(t.Context(), "", "", nil)
	require.ErrorIs(t, err, ErrNoTemporal)
	require.ErrorContains(t, err, "no such host")

	fakeTools(t, nil)
	_, err = findTemporal(t.Context(), "", "", nil)
	require.ErrorIs(t, err, ErrNoTemporal)
	require.ErrorContains(t, err, "install Go or the `temporal` command")
}

func TestBuildProgressIsReported(t *testing.T) {
	r, w := io.Pipe()
	b := &buildLog{out: w}
	_, _ = b.Write([]byte("go: downloading example.com/m v1\nexample.com/m/p\nexam"))
	stop := b.report(time.Millisecond)
	line := make([]byte, 200)
	n, err := r.Read(line)
	require.NoError(t, err)
	require.Contains(t, string(line[:n]), "1 modules downloaded, 1 packages compiled")
	require.NoError(t, r.Close())
	stop()
}

func TestAStartEndsWithItsContext(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "temporal")
	require.NoError(t, os.WriteFile(bin, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := StartTemporal(ctx, TemporalOptions{Memory: true, Headless: true, Binary: bin})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
