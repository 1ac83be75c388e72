package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/agentprocess-temporal/server/devstack"
	"github.com/agentprocess-temporal/server/examples"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/keyring"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/internal/server"
	"github.com/agentprocess-temporal/server/notify"
)

const (
	// org is whose runs the writes are measured on.
	org = "acme"
	// issuerName is who signs tokens here, and whom for.
	issuerName = "bench"
)

// stack is everything that runs while measuring.
type stack struct {
	dir      string
	postgres *devstack.Postgres
	temporal *devstack.Temporal
	url      string
	stages   *stages
	issuer   *identity.Issuer
	http     *http.Client

	pool   *pgxpool.Pool
	client client.Client // not the server's
	bare   worker.Worker
	// endServer stops the server and waits for it.
	endServer func() error
}

// startStack starts the stores as `agentprocess dev` does, durable and on files,
// and the server and the bare worker in this process.
func startStack(ctx context.Context) (_ *stack, err error) {
	s := &stack{stages: newStages(), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * callersAtOnce}}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "agentprocess-bench-"); err != nil {
		return nil, err
	}
	// PostgreSQL does not run as root: its user must get through.
	if err = os.Chmod(s.dir, 0o711); err != nil {
		return nil, err
	}
	dsn, err := s.startStores(ctx)
	if err != nil {
		return nil, err
	}
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	to := client.Options{HostPort: s.temporal.Address, Logger: tlog.NewStructuredLogger(quiet)}
	server.TuneClient(&to) // the bare side gets what the server has
	if s.client, err = client.DialContext(ctx, to); err != nil {
		return nil, err
	}
	if _, err = server.SetupSearchAttributes(ctx, s.client, client.DefaultNamespace); err != nil {
		return nil, err
	}
	s.bare = newBareWorker(s.client)
	if err = s.bare.Start(); err != nil {
		return nil, err
	}
	return s, s.startServer(ctx, dsn, to, quiet)
}

func (s *stack) startStores(ctx context.Context) (dsn string, err error) {
	if s.postgres, err = devstack.StartPostgres(ctx, devstack.PostgresOptions{Dir: filepath.Join(s.dir, "postgres")}); err != nil {
		return "", err
	}
	if err := s.postgres.EnsureDatabase(ctx, "bench"); err != nil {
		return "", err
	}
	dsn = s.postgres.DSN("bench")
	if err := postgres.Migrate(ctx, dsn, slog.New(slog.DiscardHandler)); err != nil {
		return "", err
	}
	if s.pool, err = postgres.Open(ctx, dsn); err != nil {
		return "", err
	}
	log := &startLog{}
	s.temporal, err = devstack.StartTemporal(ctx, devstack.TemporalOptions{
		Dir: filepath.Join(s.dir, "temporal"), Headless: true, Log: log,
	})
	log.over.Store(true)
	return dsn, err
}

// startLog shows the progress of building a Temporal dev server, and not what
// that says while it is stopped.
type startLog struct{ over atomic.Bool }

func (l *startLog) Write(p []byte) (int, error) {
	if l.over.Load() {
		return len(p), nil
	}
	return os.Stderr.Write(p)
}

func (s *stack) startServer(ctx context.Context, dsn string, to client.Options, log *slog.Logger) error {
	directory, err := identity.ParseDirectory(examples.Directory)
	if err != nil {
		return err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	s.issuer = identity.NewIssuer(private, issuerName, issuerName)
	secret, key := make([]byte, 32), make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	_, _ = rand.Read(key)
	ring, err := keyring.New("k1", map[string][]byte{"k1": key})
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	srv, err := server.New(ctx, server.Options{
		Addr: "127.0.0.1:0", Postgres: dsn, Temporal: to, Directory: directory,
		TokenKey: public, Issuer: issuerName, Audience: issuerName, Keys: ring, Secret: secret,
		Channel: notify.NewLog(io.Discard), Log: log, Version: "bench", Observe: s.stages.observe,
	})
	if err != nil {
		cancel()
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(running) }()
	s.endServer = func() error { cancel(); return <-ended }
	s.url = srv.URL
	ctx, cancelWait := context.WithTimeout(ctx, time.Minute)
	defer cancelWait()
	return devstack.WaitReady(ctx, s.url+"/readyz", nil)
}

// stop ends everything that has been started and leaves nothing behind.
func (s *stack) stop() error {
	var errs []error
	s.http.CloseIdleConnections()
	if s.endServer != nil {
		errs = append(errs, s.endServer())
	}
	if s.bare != nil {
		s.bare.Stop()
	}
	if s.client != nil {
		s.client.Close()
	}
	if s.pool != nil {
		s.pool.Close()
	}
	if s.temporal != nil {
		s.temporal.Stop()
	}
	if s.postgres != nil {
		errs = append(errs, s.postgres.Remove())
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}

// as returns an MCP client of a caller.
func (s *stack) as(caller identity.Caller) (*mcpClient, error) {
	token, err := s.issuer.Issue(caller, 24*time.Hour)
	if err != nil {
		return nil, err
	}
	return &mcpClient{url: s.url + "/mcp", token: token, http: s.http}, nil
}

func agent(org string) identity.Caller {
	return identity.Caller{Org: org, Subject: "a1", Kind: identity.Agent}
}

// publish makes a process ready to be run in an organization.
func (s *stack) publish(ctx context.Context, org, name, source string) error {
	token, err := s.issuer.Issue(identity.Caller{
		Org: org, Subject: "ops@example.com", Kind: identity.Person, Operator: true, Publisher: true,
	}, time.Hour)
	if err != nil {
		return err
	}
	for _, call := range []struct{ path, body string }{
		{"/api/processes", source},
		{"/api/processes/" + name + "/publish", ""},
	} {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+call.path, strings.NewReader(call.body))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := s.http.Do(req)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			return err
		}
		if res.StatusCode >= http.StatusMultipleChoices {
			return fmt.Errorf("publish %s: %s: %s", name, res.Status, text)
		}
	}
	return nil
}
