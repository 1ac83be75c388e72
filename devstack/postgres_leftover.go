package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// endLeftover deals with what a killed predecessor left in a data directory:
// a postmaster that still runs is shut down, a pid file whose number now
// belongs to a stranger is removed (PostgreSQL would take the stranger for a
// postmaster). The caller holds the lock, so no living stack owns either.
func endLeftover(ctx context.Context, data string) error {
	file := filepath.Join(data, "postmaster.pid")
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid <= 1 || !alive(pid) {
		return nil // stale: PostgreSQL removes it itself, after checks of its own
	}
	if !serves(pid, data) {
		return os.Remove(file)
	}
	for _, step := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGINT, 20 * time.Second}, {syscall.SIGQUIT, 5 * time.Second}, {syscall.SIGKILL, 5 * time.Second}} {
		p, err := os.FindProcess(pid)
		if err != nil {
			return nil
		}
		if err := p.Signal(step.sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("end the PostgreSQL that a predecessor left (process %d): %w", pid, err)
		}
		gone, err := waitGone(ctx, pid, step.wait)
		if gone || err != nil {
			return err
		}
	}
	return fmt.Errorf("the PostgreSQL that a predecessor left (process %d) does not end", pid)
}

// waitGone polls: nothing tells of the end of a process that is no child.
func waitGone(ctx context.Context, pid int, limit time.Duration) (bool, error) {
	deadline := time.After(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for alive(pid) {
		select {
		case <-tick.C:
		case <-deadline:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return true, nil
}

// serves reports whether a process is the postmaster of this data directory:
// by its working directory where the system shows it, else by its command.
func serves(pid int, data string) bool {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	if cwd, err := os.Stat(filepath.Join(proc, "cwd")); err == nil {
		want, err := os.Stat(data)
		return err == nil && os.SameFile(cwd, want)
	}
	if command, err := os.ReadFile(filepath.Join(proc, "cmdline")); err == nil {
		return strings.Contains(string(command), data)
	}
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(out), data)
}
