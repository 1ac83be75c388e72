package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"github.com/agentprocess-temporal/server/devstack"
	"github.com/agentprocess-temporal/server/internal/faults/link"
	"github.com/agentprocess-temporal/server/internal/keyring"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/internal/server"
	devconfig "github.com/agentprocess-temporal/server/internal/stack"
)

const (
	// shortLease is for leases that end while their holders are held up.
	shortLease = 6 * time.Second
	// calmLease is for leases that do not, as long as whoever stops in order costs
	// no more than one timeout of a workflow task, ten seconds.
	calmLease = 20 * time.Second
)

// stack is everything that runs.
type stack struct {
	dir    string
	binary string
	lease  time.Duration
	tokens map[string]string
	ring   *keyring.Ring

	postgres *postgresPart
	temporal *temporalPart
	servers  []*serverPart
	links    map[string]*link.Link
	fronts   []*link.Listener
	// URL is where clients go: both servers, in turn.
	URL string

	// evaluatorURL is where checks are answered, endEvaluator ends that.
	evaluatorURL string
	endEvaluator func()
	// pool and temporalClient go to the stores directly.
	pool           *pgxpool.Pool
	temporalClient client.Client
	said           *output
}

// startStack starts the stores, has migrations killed and carried out, and
// starts the servers, each behind links of its own.
func startStack(ctx context.Context, seed uint64, dir, binary string, lease time.Duration, progress func(string, ...any)) (_ *stack, err error) {
	s := &stack{dir: dir, binary: binary, lease: lease, links: map[string]*link.Link{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if s.said, err = newOutput(filepath.Join(dir, "log")); err != nil {
		return nil, err
	}
	people, err := devconfig.EnsureDirectory(dir, "", []byte(directory))
	if err != nil {
		return nil, err
	}
	if s.tokens, err = devconfig.WriteConfig(dir, people); err != nil {
		return nil, err
	}
	if s.ring, err = keyring.Load(filepath.Join(dir, "keys")); err != nil {
		return nil, err
	}
	s.startEvaluator(seed)
	progress("starting Postgres and Temporal")
	s.postgres = &postgresPart{dir: filepath.Join(dir, "postgres"), said: s.said}
	if err := s.postgres.start(ctx); err != nil {
		return nil, err
	}
	if err := s.postgres.server().EnsureDatabase(ctx, org); err != nil {
		return nil, err
	}
	if err := s.migrate(ctx, seed, binary, progress); err != nil {
		return nil, err
	}
	if s.pool, err = postgres.Open(ctx, s.dsn("")+"&pool_max_conns=4"); err != nil {
		return nil, err
	}
	s.temporal = &temporalPart{dir: filepath.Join(dir, "temporal"), said: s.said}
	if err := s.temporal.start(ctx); err != nil {
		return nil, err
	}
	quiet := tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	if s.temporalClient, err = client.DialContext(ctx, client.Options{HostPort: s.temporal.address(), Logger: quiet}); err != nil {
		return nil, err
	}
	if _, err = server.SetupSearchAttributes(ctx, s.temporalClient, client.DefaultNamespace); err != nil {
		return nil, err
	}
	progress("starting %d servers", replicas)
	return s, s.startServers(ctx)
}

// dsn is the database at an address, or at Postgres' own.
func (s *stack) dsn(addr string) string {
	dsn := s.postgres.server().DSN(org)
	if addr == "" {
		return dsn
	}
	u, err := url.Parse(dsn)
	if err != nil {
		panic(err) // devstack made it
	}
	u.Host = addr
	return u.String()
}

// link makes a link and, unless it is one of several behind an address, an
// address for it.
func (s *stack) link(name string, target func() string) *link.Link {
	l := link.New(target)
	s.links[name] = l
	return l
}

func (s *stack) listen(links ...*link.Link) (string, error) {
	l, err := link.Listen(links...)
	if err != nil {
		return "", err
	}
	s.fronts = append(s.fronts, l)
	return l.Addr, nil
}

func (s *stack) startServers(ctx context.Context) error {
	var toServers []*link.Link
	for i := range replicas {
		name := partServer(i)
		db, err := s.listen(s.link(name+"-"+partPostgres, func() string { return s.postgres.address() }))
		if err != nil {
			return err
		}
		temporal, err := s.listen(s.link(name+"-"+partTemporal, func() string { return s.temporal.address() }))
		if err != nil {
			return err
		}
		part := &serverPart{name: name, points: filepath.Join(s.dir, name), said: s.said}
		if err := part.prepare(s, s.dsn(db), temporal); err != nil {
			return err
		}
		s.servers = append(s.servers, part)
		toServers = append(toServers, s.link("clients-"+name, func() string { return part.addr }))
	}
	front, err := s.listen(toServers...)
	if err != nil {
		return err
	}
	s.URL = "http://" + front
	for _, part := range s.servers {
		part.publicURL = s.URL
		if err := part.start(ctx); err != nil {
			return err
		}
	}
	return s.ready(ctx)
}

// ready waits until every server says that it is.
func (s *stack) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, part := range s.servers {
		if err := devstack.WaitReady(ctx, "http://"+part.addr+"/readyz", nil); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// heal ends every fault that lasts.
func (s *stack) heal() {
	for _, l := range s.links {
		l.Heal()
	}
	s.postgres.resume()
	s.temporal.resume()
	for _, part := range s.servers {
		part.resume()
		part.disarm()
	}
}

// stop ends everything; the folder stays.
func (s *stack) stop() error {
	if s.postgres != nil && s.temporal != nil {
		s.heal()
	}
	for _, part := range s.servers {
		part.end()
	}
	for _, l := range s.fronts {
		l.Close()
	}
	if s.temporalClient != nil {
		s.temporalClient.Close()
	}
	if s.pool != nil {
		s.pool.Close()
	}
	if s.temporal != nil {
		s.temporal.end()
	}
	if s.postgres != nil {
		s.postgres.end()
	}
	if s.endEvaluator != nil {
		s.endEvaluator()
	}
	if s.said != nil {
		return s.said.Close()
	}
	return nil
}

// build builds the server with its fault points.
func build(ctx context.Context, source, into string) (string, error) {
	binary := filepath.Join(into, "agentprocess")
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "faultpoints", "-o", binary, "./cmd/agentprocess")
	cmd.Dir, cmd.Stderr = source, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build the server: %w", err)
	}
	return binary, nil
}
