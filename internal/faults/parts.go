package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentprocess-temporal/server/devstack"
	"github.com/agentprocess-temporal/server/internal/faults/faultpoint"
	devconfig "github.com/agentprocess-temporal/server/internal/stack"
)

// startWithin bounds one start of a store.
const startWithin = 2 * time.Minute

// signalTree signals a process and those it started, since what a postmaster
// does, others do for it.
func signalTree(pid int, sig syscall.Signal) {
	_ = syscall.Kill(pid, sig) // gone is as good as signalled
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return // no such system: the process alone
	}
	for _, field := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			signalTree(child, sig)
		}
	}
}

// postgresPart is the Postgres server, started anew when a fault ended it.
type postgresPart struct {
	dir  string
	said *output

	busy sync.Mutex // one fault at a time
	mu   sync.Mutex
	p    *devstack.Postgres
}

func (p *postgresPart) server() *devstack.Postgres {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p
}

func (p *postgresPart) address() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.server().Port))
}

func (p *postgresPart) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	started, err := devstack.StartPostgres(ctx, devstack.PostgresOptions{Dir: p.dir, Log: p.said.as(partPostgres)})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.p = started
	p.mu.Unlock()
	return nil
}

// again ends it by a signal, or in order for none, and starts it anew.
func (p *postgresPart) again(ctx context.Context, sig syscall.Signal) error {
	if sig != 0 {
		_ = syscall.Kill(p.server().PID(), sig)
		<-p.server().Done()
	}
	p.server().Stop() // which lets go of its folder, too
	return p.start(ctx)
}

func (p *postgresPart) pause()  { signalTree(p.server().PID(), syscall.SIGSTOP) }
func (p *postgresPart) resume() { signalTree(p.server().PID(), syscall.SIGCONT) }
func (p *postgresPart) end()    { p.server().Stop() }

// temporalPart is the Temporal dev server on its file.
type temporalPart struct {
	dir  string
	said *output

	busy sync.Mutex
	mu   sync.Mutex
	t    *devstack.Temporal
	port int
}

func (p *temporalPart) server() *devstack.Temporal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.t
}

func (p *temporalPart) address() string { return p.server().Address }

func (p *temporalPart) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	started, err := devstack.StartTemporal(ctx, devstack.TemporalOptions{
		Dir: p.dir, Headless: true, Port: p.port, Log: p.said.as(partTemporal),
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.t = started
	_, port, err := net.SplitHostPort(started.Address)
	if err != nil {
		return err
	}
	p.port, err = strconv.Atoi(port)
	return err
}

func (p *temporalPart) again(ctx context.Context, sig syscall.Signal) error {
	if sig != 0 {
		_ = syscall.Kill(p.server().PID(), sig)
		<-p.server().Done()
	}
	p.server().Stop()
	return p.start(ctx)
}

func (p *temporalPart) pause()  { signalTree(p.server().PID(), syscall.SIGSTOP) }
func (p *temporalPart) resume() { signalTree(p.server().PID(), syscall.SIGCONT) }
func (p *temporalPart) end()    { p.server().Stop() }

// serverPart is one server process, started anew whenever it ends.
type serverPart struct {
	name, addr, publicURL string
	points                string // folder that arms fault points
	args, env             []string
	said                  *output

	busy    sync.Mutex
	mu      sync.Mutex
	process *devstack.Process
	ended   bool
	gone    sync.WaitGroup
}

// prepare settles the address, so that it stays when the process does not.
func (p *serverPart) prepare(s *stack, dsn, temporal string) error {
	if err := os.MkdirAll(p.points, 0o700); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.addr = l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	p.args = []string{
		s.binary, "server", "--addr", p.addr, "--lease", s.lease.String(),
		"--directory", filepath.Join(s.dir, "directory.yaml"),
		"--keys", filepath.Join(s.dir, "keys"), "--secret", filepath.Join(s.dir, "secret"),
		"--token-key", filepath.Join(s.dir, devconfig.PublicKeyFile),
		"--token-issuer", devconfig.Issuer, "--token-audience", devconfig.Audience,
	}
	p.env = append(os.Environ(), "AGENTPROCESS_POSTGRES="+dsn, "TEMPORAL_ADDRESS="+temporal,
		"AGENTPROCESS_EVALUATOR_URL="+s.evaluatorURL, "AGENTPROCESS_EVALUATOR_MODEL=reviewer",
		"TEMPORAL_NAMESPACE="+devstack.DefaultNamespace, "TEMPORAL_TLS=false", faultpoint.DirVariable+"="+p.points)
	return nil
}

func (p *serverPart) start(context.Context) error {
	p.args = append(p.args, "--public-url", p.publicURL)
	if err := p.launch(); err != nil {
		return err
	}
	p.gone.Go(p.supervise)
	return nil
}

func (p *serverPart) launch() error {
	p.mu.Lock()
	arguments := p.args
	p.mu.Unlock()
	started, err := devstack.StartProcess(devstack.ProcessOptions{Args: arguments, Env: p.env, Log: p.said.as(p.name)})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.process = started
	return nil
}

// supervise begins again where devstack gives up: it takes a server that fails
// five times for one that will never work, and here its stores are only away.
func (p *serverPart) supervise() {
	for {
		<-p.current().Done()
		p.mu.Lock()
		ended := p.ended
		p.mu.Unlock()
		if ended || p.launch() != nil {
			return
		}
	}
}

func (p *serverPart) current() *devstack.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process
}

func (p *serverPart) signal(sig syscall.Signal) { _ = syscall.Kill(p.current().Pid(), sig) }
func (p *serverPart) pause()                    { p.signal(syscall.SIGSTOP) }
func (p *serverPart) resume()                   { p.signal(syscall.SIGCONT) }

// arm has the process die at a point; a point that is never passed is disarmed
// in the end.
func (p *serverPart) arm(name string) error {
	return os.WriteFile(filepath.Join(p.points, name), nil, 0o600)
}

func (p *serverPart) disarm() {
	for _, name := range faultpoint.All {
		if err := os.Remove(filepath.Join(p.points, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			panic(err) // the folder is ours
		}
	}
}

func (p *serverPart) end() {
	p.mu.Lock()
	p.ended = true
	started := p.process
	p.mu.Unlock()
	if started != nil {
		started.Stop()
	}
	p.gone.Wait()
}
