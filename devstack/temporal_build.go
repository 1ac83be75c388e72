package devstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// buildTemporal builds the `temporal` command and puts it at path when it is
// whole. Of several that need it at once, one builds and the others wait.
func buildTemporal(ctx context.Context, path string, log io.Writer) error {
	if log == nil {
		log = io.Discard
	}
	held, err := waitForBuilder(ctx, filepath.Dir(path), log)
	if err != nil {
		return err
	}
	defer held.Unlock()
	if executable(path) { // built while we waited
		return nil
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("%w, and no `go` to build one: install Go or the `temporal` command "+
			"(https://docs.temporal.io/cli), or set %s to it", ErrNoTemporal, envTemporal)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(path), "build-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	fmt.Fprintf(log, "building the Temporal dev server %s, once, which takes minutes, on a small machine ten\n", TemporalVersion)
	output := &buildLog{out: log}
	stop := output.report(10 * time.Second)
	defer stop()
	err = runChild(ctx, childSpec{
		path: goTool, args: []string{"install", "-v", temporalPackage + "@" + TemporalVersion},
		// The user's GOFLAGS may name a vendor folder or a cross build.
		env: append(os.Environ(), "GOBIN="+tmp, "GOFLAGS=", "GOOS=", "GOARCH="), dir: tmp,
		onDeath: syscall.SIGKILL, log: output,
	})
	if err != nil {
		return fmt.Errorf("%w, and building it failed: %w", ErrNoTemporal, err)
	}
	if err := os.Rename(filepath.Join(tmp, "temporal"), path); err != nil {
		return err
	}
	fmt.Fprintf(log, "built %s\n", path)
	return nil
}

// waitForBuilder polls: a file lock of another process wakes nobody.
func waitForBuilder(ctx context.Context, dir string, log io.Writer) (*DirLock, error) {
	for told := false; ; {
		held, err := lock(dir, "build.lock")
		var busy *InUseError
		if !errors.As(err, &busy) {
			return held, err
		}
		if !told {
			fmt.Fprintf(log, "waiting for process %d, which builds the Temporal dev server\n", busy.PID)
			told = true
		}
		if !pause(ctx, 200*time.Millisecond) {
			return nil, context.Cause(ctx)
		}
	}
}

// buildLog counts what `go install -v` names, package by package, and passes
// on the rest: what went wrong.
type buildLog struct {
	out      io.Writer
	partial  []byte
	packages atomic.Int64
	modules  atomic.Int64
}

func (b *buildLog) Write(p []byte) (int, error) {
	b.partial = append(b.partial, p...)
	for {
		i := bytes.IndexByte(b.partial, '\n')
		if i < 0 {
			return len(p), nil
		}
		line := string(b.partial[:i])
		b.partial = b.partial[i+1:]
		switch {
		case strings.HasPrefix(line, "go: downloading "):
			b.modules.Add(1)
		case !strings.ContainsAny(line, " \t"):
			b.packages.Add(1)
		default:
			fmt.Fprintln(b.out, line)
		}
	}
}

// report prints a line of progress every so often until it is stopped.
func (b *buildLog) report(every time.Duration) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	begin := time.Now()
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				fmt.Fprintf(b.out, "  %s: %d modules downloaded, %d packages compiled\n",
					time.Since(begin).Round(time.Second), b.modules.Load(), b.packages.Load())
			}
		}
	}()
	return func() { close(done); <-ended }
}
