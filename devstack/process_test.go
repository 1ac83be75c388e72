//go:build unix

package devstack

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func startServer(t *testing.T) (p *Process, url string) {
	t.Helper()
	port, err := choosePort(0)
	require.NoError(t, err)
	p, err = StartProcess(ProcessOptions{Args: []string{os.Args[0], address(port)}, Env: append(os.Environ(), roleVariable+"=server")})
	require.NoError(t, err)
	t.Cleanup(p.Stop)
	return p, "http://" + address(port)
}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	return res
}

func servedBy(t *testing.T, url string) int {
	t.Helper()
	res := get(t, url)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	pid, err := strconv.Atoi(string(body))
	require.NoError(t, err)
	return pid
}

func TestAKilledProcessComesBack(t *testing.T) {
	p, url := startServer(t)
	require.NoError(t, WaitReady(t.Context(), url, p.Done()))
	for range 3 {
		killed := p.Pid()
		require.Equal(t, killed, servedBy(t, url))
		require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))
		require.NoError(t, WaitReady(t.Context(), url, p.Done()))
		require.NotEqual(t, killed, servedBy(t, url))
	}
	last := p.Pid()
	p.Stop()
	p.Stop()
	require.NoError(t, p.Err())
	require.False(t, alive(last))
}

func TestAProcessThatFailsAgainAndAgainIsGivenUp(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	p, err := StartProcess(ProcessOptions{Args: []string{"/bin/sh", "-c", `echo x >> "$0"; echo "bad DSN" >&2; exit 3`, count}})
	require.NoError(t, err)
	require.ErrorIs(t, WaitReady(t.Context(), "http://"+address(1), p.Done()), ErrEnded)
	require.ErrorContains(t, p.Err(), "exit status 3")
	require.ErrorContains(t, p.Err(), "bad DSN")
	text, err := os.ReadFile(count)
	require.NoError(t, err)
	require.Equal(t, maxFailures, strings.Count(string(text), "x"))
}

func TestAProcessThatIgnoresTermIsKilledAfterItsGrace(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	p, err := StartProcess(ProcessOptions{Args: []string{"/bin/sh", "-c", `trap '' TERM; echo ready; while :; do sleep 0.1; done`},
		Log: w, Grace: 100 * time.Millisecond})
	require.NoError(t, err)
	_, err = r.Read(make([]byte, 10))
	require.NoError(t, err)
	p.Stop()
	require.False(t, alive(p.Pid()))
}

func TestWaitReadyTellsTheLastAnswer(t *testing.T) {
	port, err := choosePort(0)
	require.NoError(t, err)
	srv := &http.Server{Addr: address(port), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "search attributes are missing", http.StatusServiceUnavailable)
	})}
	go func() { _ = srv.ListenAndServe() }()
	defer srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err = WaitReady(ctx, "http://"+address(port), nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "search attributes are missing")
}

// A whole stack in another process: killed, it takes its children with it, and
// the next one goes on with what it left.
func TestNothingOutlivesAKilledStackAndTheNextGoesOn(t *testing.T) {
	dir := stackDir(t)
	for range 2 {
		cmd, pids := runStack(t, dir)
		for _, pid := range []int{pids.Postgres, pids.Temporal, pids.Process} {
			require.True(t, alive(pid))
		}
		_, err := Lock(dir)
		var inUse *InUseError
		require.ErrorAs(t, err, &inUse)
		require.Equal(t, cmd.Process.Pid, inUse.PID)

		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		gone(t, pids.Temporal)
		gone(t, pids.Process)
		// PostgreSQL may still be shutting down: the next start waits for it.
	}
	p := startPostgres(t, PostgresOptions{Dir: dir})
	require.Equal(t, "1", query(t, p.DSN("postgres"), "SELECT '1'"))
}

func TestPostgresEndsCleanlyWithAKilledStack(t *testing.T) {
	dir := stackDir(t)
	cmd, pids := runStack(t, dir)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	gone(t, pids.Postgres)
	require.NoFileExists(t, filepath.Join(dir, "postgres", "data", "postmaster.pid"), "a clean shutdown")
}

func runStack(t *testing.T, dir string) (*exec.Cmd, stackPIDs) {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), roleVariable+"=stack")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var pids stackPIDs
	require.NoError(t, json.NewDecoder(out).Decode(&pids))
	return cmd, pids
}

func gone(t *testing.T, pid int) {
	t.Helper()
	ok, err := waitGone(t.Context(), pid, 20*time.Second)
	require.NoError(t, err)
	require.True(t, ok, "process %d is still there", pid)
}

// Systems without a parent-death signal rely on the watchdog; it works here too.
func TestTheWatchdogKillsWhenItsPipeCloses(t *testing.T) {
	c := startStranger(t, nil)
	d := startStranger(t, nil)
	watchdog(d.pid())()
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "watchdog", strconv.Itoa(c.pid())) // no input: as if the parent had died
	require.NoError(t, cmd.Start())
	<-c.done
	require.True(t, signalled(c.err))
	_ = cmd.Process.Kill() // it would wait before it kills
	_ = cmd.Wait()
	require.True(t, alive(d.pid()), "a released watchdog leaves the process alone")
}
