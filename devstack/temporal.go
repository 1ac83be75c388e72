package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
)

// DefaultNamespace is the namespace that the dev server always has.
const DefaultNamespace = "default"

// TemporalOptions says how to run the Temporal dev server.
type TemporalOptions struct {
	// Dir keeps temporal.db from one start to the next; it is made if missing.
	// With Memory it may be empty.
	Dir string
	// Memory keeps nothing. For tests.
	Memory bool
	// Ports to listen on; 0 means a free one, and one that is taken is
	// replaced by a free one. UIPort is not used with Headless.
	Port, UIPort, MetricsPort int
	// Headless leaves the UI out.
	Headless bool
	// Binary is the `temporal` to run. Empty: the first of AGENTPROCESS_TEMPORAL,
	// the one on PATH if it is recent enough, and the one in the user's cache,
	// which is built with the Go toolchain if missing.
	Binary string
	// SearchAttributes of the namespace `default`: name to type (Keyword, Bool,
	// Datetime, …). Those a kept database lacks are added.
	SearchAttributes map[string]string
	// Log receives the server's messages; nil drops them.
	Log io.Writer
	// Progress receives what a build has to say, which takes minutes; nil: Log.
	Progress io.Writer
}

// Temporal is a running dev server that ends with this process.
type Temporal struct {
	// Address of the gRPC front end, host:port.
	Address string
	// UI is the URL of the web UI; empty with Headless.
	UI string
	// Metrics is the URL of the server's Prometheus metrics.
	Metrics string

	child  *child
	lock   *DirLock
	memory bool
	stop   sync.Once
}

// portRaces is how often a start is tried again because someone took a port
// between its choice and its use; the dev server picks some by itself.
const portRaces = 5

// StartTemporal starts the dev server and returns when its front end, and the
// UI unless headless, answer. ctx bounds the start only. It takes minutes the
// first time if the server has to be built.
//
// Errors: one that wraps ErrNoTemporal where there is no server and none can be
// built; *InUseError while another process runs the Temporal of this
// directory; else one that quotes the server's last lines.
func StartTemporal(ctx context.Context, opts TemporalOptions) (_ *Temporal, err error) {
	t := &Temporal{memory: opts.Memory}
	dir := ""
	if opts.Dir != "" {
		if dir, err = filepath.Abs(opts.Dir); err != nil {
			return nil, err
		}
		if t.lock, err = lock(dir, "temporal.lock"); err != nil {
			return nil, err
		}
	} else if !opts.Memory {
		return nil, errors.New("the Temporal dev server needs a directory, unless it keeps nothing")
	}
	defer func() {
		if err != nil {
			t.lock.Unlock()
		}
	}()
	if opts.Progress == nil {
		opts.Progress = opts.Log
	}
	bin, err := findTemporal(ctx, opts.Binary, dir, opts.Progress)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		if err = t.start(ctx, bin, dir, opts); err == nil {
			return t, nil
		}
		if t.child == nil {
			return nil, err
		}
		t.end()
		said := t.child.tail.String()
		race := strings.Contains(said, "address already in use") || strings.Contains(said, "can't set ")
		if !race || try == portRaces || ctx.Err() != nil {
			return nil, err
		}
	}
}

func (t *Temporal) start(ctx context.Context, bin, dir string, opts TemporalOptions) error {
	port, err := choosePort(opts.Port)
	if err != nil {
		return err
	}
	metrics, err := choosePort(opts.MetricsPort)
	if err != nil {
		return err
	}
	t.Address, t.Metrics = address(port), "http://"+address(metrics)+"/metrics"
	args := []string{"server", "start-dev", "--ip", host, "--log-level", "error",
		"--port", strconv.Itoa(port), "--metrics-port", strconv.Itoa(metrics)}
	if opts.Headless {
		args = append(args, "--headless")
	} else {
		ui, err := choosePort(opts.UIPort)
		if err != nil {
			return err
		}
		t.UI = "http://" + address(ui)
		args = append(args, "--ui-port", strconv.Itoa(ui))
	}
	if !opts.Memory {
		// Write-ahead logging: one sync a transaction, readers do not wait.
		args = append(args, "--db-filename", filepath.Join(dir, "temporal.db"), "--sqlite-pragma", "journal_mode=wal")
	}
	for _, name := range sortedNames(opts.SearchAttributes) {
		args = append(args, "--search-attribute", name+"="+opts.SearchAttributes[name])
	}
	// Every part of the server learns of new namespaces and search attributes
	// within this time; the default of 2 s would make tests wait. The limits
	// that production has (ten updates in flight, 2,000 in all) stay.
	args = append(args, "--dynamic-config-value", `system.namespaceCacheRefreshInterval="100ms"`)

	t.child, err = startChild(childSpec{path: bin, args: args, env: temporalEnv(), dir: dir, onDeath: syscall.SIGKILL, log: opts.Log, chats: true})
	if err != nil {
		return err
	}
	if err := t.ready(ctx, opts.SearchAttributes); err != nil {
		return err
	}
	if t.UI != "" {
		if err := WaitReady(ctx, t.UI+"/healthz", t.child.done); err != nil {
			return fmt.Errorf("the UI of Temporal: %w, the server's last lines:\n%s", err, t.child.tail)
		}
	}
	return nil
}

func sortedNames(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// temporalEnv leaves out the settings of the user's own Temporal.
func temporalEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TEMPORAL_") {
			env = append(env, v)
		}
	}
	return env
}

// ready returns when the front end is healthy and the namespace has its search
// attributes.
func (t *Temporal) ready(ctx context.Context, attributes map[string]string) error {
	c, err := client.NewLazyClient(client.Options{HostPort: t.Address, Logger: silent{}})
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // an answer is not worth waiting for once the server has ended
		select {
		case <-t.child.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
		if err == nil {
			if err = ensureSearchAttributes(ctx, c, DefaultNamespace, attributes); err == nil {
				return nil
			}
		}
		if permanent(err) {
			return fmt.Errorf("the Temporal dev server refuses: %w", err)
		}
		if !pause(ctx, 20*time.Millisecond) {
			select {
			case <-t.child.done:
				return t.child.ended("the Temporal dev server")
			default:
				return fmt.Errorf("the Temporal dev server is not ready (%w): %w, its last lines:\n%s", context.Cause(ctx), err, t.child.tail)
			}
		}
	}
}

// PID is the process id of the server.
func (t *Temporal) PID() int { return t.child.pid() }

// Done is closed when the server has ended, whoever ended it.
func (t *Temporal) Done() <-chan struct{} { return t.child.done }

// Stop ends the server and returns when it has ended; again, it does nothing.
func (t *Temporal) Stop() {
	t.stop.Do(func() {
		t.end()
		t.lock.Unlock()
	})
}

// end takes about a second, for which a server that keeps nothing has no use.
func (t *Temporal) end() {
	if t.memory {
		t.child.stop(stopGrace)
		return
	}
	t.child.stop(stopGrace, syscall.SIGTERM)
}
