package devstack

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// ProcessOptions says what a supervised process runs.
type ProcessOptions struct {
	// Args is the program and its arguments.
	Args []string
	// Env of the process; nil: that of this one.
	Env []string
	// Log receives its output, and a line for each restart; nil drops them.
	Log io.Writer
	// Grace is how long it may take to end after SIGTERM; 0 means 20 s.
	Grace time.Duration
}

const (
	firstBackoff = 50 * time.Millisecond
	maxBackoff   = 5 * time.Second
	// settled is how long a run must last to count as a success.
	settled = 10 * time.Second
	// maxFailures in a row end the supervision: a server that refuses its
	// configuration will not like it better the sixth time.
	maxFailures = 5
)

// Process keeps a child process running: whenever it ends by itself or is
// killed, it is started again.
type Process struct {
	opts  ProcessOptions
	quit  chan struct{}
	done  chan struct{}
	once  sync.Once
	mu    sync.Mutex
	child *child
	err   error
}

// StartProcess starts the child and its supervision. It ends with this process.
func StartProcess(opts ProcessOptions) (*Process, error) {
	if len(opts.Args) == 0 {
		return nil, errors.New("no program to run")
	}
	if opts.Grace == 0 {
		opts.Grace = stopGrace
	}
	p := &Process{opts: opts, quit: make(chan struct{}), done: make(chan struct{})}
	c, err := p.launch()
	if err != nil {
		return nil, err
	}
	go p.supervise(c)
	return p, nil
}

func (p *Process) launch() (*child, error) {
	c, err := startChild(childSpec{path: p.opts.Args[0], args: p.opts.Args[1:], env: p.opts.Env,
		onDeath: syscall.SIGKILL, log: p.opts.Log})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.child = c
	p.mu.Unlock()
	return c, nil
}

func (p *Process) supervise(c *child) {
	defer close(p.done)
	backoff, failures := firstBackoff, 0
	for {
		begin := time.Now()
		select {
		case <-c.done:
		case <-p.quit:
			c.stop(p.opts.Grace, syscall.SIGTERM)
			return
		}
		switch {
		case time.Since(begin) >= settled:
			backoff, failures = firstBackoff, 0
		case !signalled(c.err):
			failures++
		}
		if failures == maxFailures {
			p.fail(c.ended("the process"))
			return
		}
		if p.opts.Log != nil {
			fmt.Fprintf(p.opts.Log, "process %d ended (%v): starting it again\n", c.pid(), c.err)
		}
		timer := time.NewTimer(backoff)
		select {
		case <-timer.C:
		case <-p.quit:
			timer.Stop()
			return
		}
		backoff = min(2*backoff, maxBackoff)
		next, err := p.launch()
		if err != nil {
			p.fail(err)
			return
		}
		c = next
	}
}

func (p *Process) fail(err error) {
	p.mu.Lock()
	p.err = err
	p.mu.Unlock()
}

// signalled reports whether someone killed the process, which says nothing
// against it.
func signalled(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == -1
}

// Pid is the id of the child that runs, or ran last.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.child.pid()
}

// Done is closed when the child has ended for good: after Stop, or when it
// failed too often in a row; see Err.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err tells, after Done, why the supervision gave up, quoting the child's last
// lines; nil after Stop.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Stop ends the child with SIGTERM, and with SIGKILL if that is not enough, and
// returns when it has ended. A second call waits for the first.
func (p *Process) Stop() {
	p.once.Do(func() { close(p.quit) })
	<-p.done
}
