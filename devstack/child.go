package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// account is the operating system user a child runs as.
type account struct {
	name     string
	uid, gid uint32
}

// childSpec says what to run and how.
type childSpec struct {
	path string
	args []string // without the program's name
	env  []string // nil: this process's own
	dir  string   // working directory; empty: this process's own
	user *account // nil: the user of this process
	// onDeath is what the child receives when this process dies.
	onDeath syscall.Signal
	// log receives its output; of a child that chats, only what it says on
	// its standard error.
	log   io.Writer
	chats bool
}

// child is a running program that ends with this process.
type child struct {
	cmd  *exec.Cmd
	tail *tail
	done chan struct{} // closed when it has ended
	err  error         // how it ended; read after done
}

// keeper starts children from one operating system thread that lives as long
// as the process: Linux sends the parent-death signal when the *thread* that
// forked ends (golang/go#27505), and ordinary Go threads come and go.
var keeper = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// startChild starts the program and returns without waiting for it.
func startChild(spec childSpec) (*child, error) {
	c := &child{tail: &tail{out: spec.log}, done: make(chan struct{})}
	c.cmd = exec.Command(spec.path, spec.args...)
	c.cmd.Env, c.cmd.Dir = spec.env, spec.dir
	c.cmd.Stdout, c.cmd.Stderr = c.tail, c.tail
	if spec.chats {
		c.cmd.Stdout = unlogged{c.tail}
	}
	// Grandchildren may hold the output open after the child has ended.
	c.cmd.WaitDelay = time.Second
	c.cmd.SysProcAttr = attributes(spec.user, spec.onDeath)

	started := make(chan error, 1)
	keeper() <- func() { started <- c.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(spec.path), err)
	}
	release := guard(c.cmd.Process.Pid)
	go func() {
		err := c.cmd.Wait()
		if errors.Is(err, exec.ErrWaitDelay) {
			err = nil
		}
		release()
		c.err = err
		close(c.done)
	}()
	return c, nil
}

// runChild runs the program to its end. When ctx ends first, it is killed.
func runChild(ctx context.Context, spec childSpec) error {
	c, err := startChild(spec)
	if err != nil {
		return err
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		_ = c.cmd.Process.Kill()
		<-c.done
		return context.Cause(ctx)
	}
	if c.err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(spec.path), c.err, c.tail)
	}
	return nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// ended returns an error that quotes the last lines; call it after done.
func (c *child) ended(what string) error {
	how := "exit status 0"
	if c.err != nil {
		how = c.err.Error()
	}
	return fmt.Errorf("%s ended (%s), its last lines:\n%s", what, how, c.tail)
}

// stop sends the signals in turn, waiting grace for each, then SIGKILL, and
// returns when the child has ended. Stopping an ended child does nothing.
func (c *child) stop(grace time.Duration, signals ...os.Signal) {
	for _, sig := range append(signals, os.Kill) {
		_ = c.cmd.Process.Signal(sig)
		timer := time.NewTimer(grace)
		select {
		case <-c.done:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
	<-c.done
}
