package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/agentprocess-temporal/server/activities"
	"github.com/agentprocess-temporal/server/files"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/payloadcodec"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/internal/telemetry"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/schemas"
	"github.com/agentprocess-temporal/server/workflows"
)

// Server is a composed server. It listens once New returned, and serves while
// Run does.
type Server struct {
	// URL is where it listens.
	URL string
	// MetricsURL is where Prometheus reads metrics, empty where nowhere.
	MetricsURL string

	opts     Options
	pool     *pgxpool.Pool
	temporal client.Client
	worker   worker.Worker
	service  *operations.Service
	people   *identity.People
	listener net.Listener
	http     *http.Server

	telemetry *telemetry.Telemetry
	// metrics serves them at an address of its own; nil where none is asked for.
	metrics *metricsServer
}

const (
	// drain is how long calls under way may take when the server stops.
	drain = 20 * time.Second
	// maxHeader bounds the headers of a request, a token included, in bytes.
	maxHeader = 64 << 10
)

// New connects a server. It refuses to when the schema is older than this
// binary, or when Temporal lacks the search attributes: an unregistered one
// would fail every workflow task.
func New(ctx context.Context, opts Options) (s *Server, err error) {
	s = &Server{opts: withDefaults(opts)}
	made := s // what is returned with an error is nil
	defer func() {
		if err != nil {
			made.close()
		}
	}()
	if s.opts.RunDataBytes > operations.MaxRunDataBytes {
		return nil, fmt.Errorf("run data can be capped at %d bytes at most", operations.MaxRunDataBytes)
	}
	if try := s.opts.CheckTry; try < time.Second || try > operations.MaxCheckTry {
		return nil, fmt.Errorf("a try of the evaluator can take from 1s to %s, not %s", operations.MaxCheckTry, try)
	}
	if (s.opts.Deployment == "") != (s.opts.BuildID == "") {
		return nil, errors.New("a worker's version has a deployment name and a build id, or neither")
	}
	if s.pool, err = openPool(ctx, s.opts); err != nil {
		return nil, err
	}
	if err = postgres.Check(ctx, s.pool); err != nil {
		return nil, err
	}
	if newer, err := postgres.Newer(ctx, s.pool); err == nil && newer {
		s.opts.Log.InfoContext(ctx, "the schema is newer than this binary, and still serves it")
	}
	s.usePayloadKeys()
	if err = s.startTelemetry(ctx); err != nil {
		return nil, err
	}
	TuneClient(&s.opts.Temporal)
	s.opts.Temporal.Logger = tlog.NewStructuredLogger(s.opts.Log)
	if s.temporal, err = client.DialContext(ctx, s.opts.Temporal); err != nil {
		return nil, fmt.Errorf("temporal: %w", err)
	}
	if err = s.telemetry.WatchOverdue(s.countOverdue, s.opts.Log); err != nil {
		return nil, err
	}
	if err = CheckSearchAttributes(ctx, s.temporal, s.opts.Temporal.Namespace); err != nil {
		return nil, err
	}
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.opts.Addr); err != nil {
		return nil, err
	}
	s.URL = "http://" + s.listener.Addr().String()
	if s.opts.PublicURL == "" {
		s.opts.PublicURL = s.URL
	}
	s.people = newPeople(s.opts)
	s.service = s.newService()
	s.worker = s.newWorker()
	limits := s.opts.Timeouts
	s.http = &http.Server{
		Handler:           readToTheEnd(s.harden(s.routes())),
		ReadHeaderTimeout: limits.Header, ReadTimeout: limits.Read, WriteTimeout: limits.Write, IdleTimeout: limits.Idle,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(s.opts.Log.Handler(), slog.LevelWarn),
	}
	return s, ensureSchedule(ctx, s.temporal, s.opts.TaskQueue)
}

// usePayloadKeys has payloads encrypted on their way to Temporal.
func (s *Server) usePayloadKeys() {
	if s.opts.PayloadKeys != nil {
		codec := payloadcodec.New(s.opts.PayloadKeys)
		s.opts.Temporal.DataConverter = payloadcodec.DataConverter(codec)
		s.opts.Temporal.FailureConverter = payloadcodec.FailureConverter(codec)
	}
}

func openPool(ctx context.Context, o Options) (*pgxpool.Pool, error) {
	pool, err := postgres.Open(ctx, o.Postgres)
	if err != nil || o.Tracer == nil {
		return pool, err
	}
	cfg := pool.Config()
	pool.Close()
	cfg.ConnConfig.Tracer = o.Tracer
	return pgxpool.NewWithConfig(ctx, cfg)
}

func withDefaults(o Options) Options {
	o.Timeouts.Header = cmp.Or(o.Timeouts.Header, DefaultTimeouts.Header)
	o.Timeouts.Read = cmp.Or(o.Timeouts.Read, DefaultTimeouts.Read)
	o.Timeouts.Write = cmp.Or(o.Timeouts.Write, DefaultTimeouts.Write)
	o.Timeouts.Idle = cmp.Or(o.Timeouts.Idle, DefaultTimeouts.Idle)
	if o.Lease == 0 {
		o.Lease = operations.DefaultLease
	}
	if o.RunDataBytes == 0 {
		o.RunDataBytes = operations.DefaultRunDataBytes
	}
	if o.MaxUploadBytes == 0 {
		o.MaxUploadBytes = operations.DefaultMaxUploadBytes
	}
	if o.CheckTry == 0 {
		o.CheckTry = operations.DefaultCheckTry
	}
	if o.TaskQueue == "" {
		o.TaskQueue = operations.DefaultTaskQueue
	}
	if o.Temporal.Namespace == "" {
		o.Temporal.Namespace = client.DefaultNamespace
	}
	return o
}

// profiles are what the server offers: checks only while somebody answers them
// (check profile).
func (o *Options) profiles() []string {
	offered := []string{operations.ProfileParallel}
	if o.Evaluator != nil {
		offered = append(offered, operations.ProfileCheck)
	}
	return offered
}

func (s *Server) newService() *operations.Service {
	return &operations.Service{
		Config: operations.Config{
			Lease: s.opts.Lease, RunDataBytes: s.opts.RunDataBytes, MaxUploadBytes: s.opts.MaxUploadBytes,
			Namespace: s.opts.Temporal.Namespace, TaskQueue: s.opts.TaskQueue,
			Profiles: s.opts.profiles(), CheckTry: s.opts.CheckTry,
		},
		Pool: s.pool, Temporal: s.temporal,
		Tokens: s.opts.Keys, Secret: s.opts.Secret, Links: files.Links{Base: s.opts.PublicURL, Ring: s.opts.Keys},
		People: s.people, Log: s.opts.Log, Observe: s.observe, Projected: s.projected,
	}
}

// TuneClient chooses what Temporal's configuration leaves open. Payloads are a
// few kilobytes: compressing them, as the SDK would, takes longer than sending them.
func TuneClient(o *client.Options) {
	if o.ConnectionOptions.GrpcCompression == nil {
		o.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	}
}

// softLimit is how much memory, in bytes, the process takes before it collects more
// often. Ten thousand runs in the worker's cache are a quarter of it.
const softLimit = 1 << 30

// TuneRuntime lets the heap grow to five times what is live before it is
// collected, below softLimit: what is live is small, and most of what a call
// allocates dies with it. GOGC and GOMEMLIMIT, where they are set, count instead.
func TuneRuntime() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softLimit)
	}
}

// WorkerOptions are those of the server's worker.
func WorkerOptions() worker.Options {
	return worker.Options{
		WorkerStopTimeout: drain,
		// Runs answer callers who wait, so there is a poller for every task of a
		// busy moment: one that comes while none waits, Temporal writes to its
		// database first.
		MaxConcurrentWorkflowTaskPollers: 64,
		// Ten writes to a run at its limits are some megabytes of JSON. A task may
		// take ten seconds.
		DeadlockDetectionTimeout: 5 * time.Second,
	}
}

func (s *Server) newWorker() worker.Worker {
	o := WorkerOptions()
	o.DeploymentOptions = s.opts.deploymentOptions()
	w := worker.New(s.temporal, s.opts.TaskQueue, o)
	w.RegisterWorkflowWithOptions(workflows.ProcessRun, workflow.RegisterOptions{Name: workflows.TypeRun})
	w.RegisterWorkflowWithOptions(workflows.Reconcile, workflow.RegisterOptions{Name: workflows.TypeReconcile})
	(&activities.Activities{
		Service: s.service, Channel: s.telemetry.Channel(s.opts.Channel), Evaluator: s.telemetry.Evaluator(s.opts.Evaluator), Log: s.opts.Log,
		Settled: s.telemetry.Settled, Passed: s.telemetry.Passed, Alarmed: s.telemetry.Alarmed,
	}).Register(w)
	return w
}

// Run serves until ctx ends, then stops in order: no new calls, those under way
// finished, then the worker that answers them.
func (s *Server) Run(ctx context.Context) error {
	defer s.close()
	if err := s.worker.Start(); err != nil {
		return fmt.Errorf("temporal: worker: %w", err)
	}
	defer s.worker.Stop()
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	go s.sayWhoServes(watching)
	go s.people.Directories.Watch(watching, directoryEvery, s.opts.Reload, s.opts.Log)
	failed := make(chan error, 2)
	go func() { failed <- s.http.Serve(s.listener) }()
	s.metrics.serve(failed)
	s.opts.Log.InfoContext(ctx, "serving", "url", s.URL, "tools", len(schemas.Tools()))
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.opts.Log.InfoContext(ctx, "stopping: finishing the calls under way")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func (s *Server) close() {
	s.endTelemetry()
	if s.listener != nil {
		_ = s.listener.Close()
	}
	if s.temporal != nil {
		s.temporal.Close()
	}
	if s.pool != nil {
		s.pool.Close()
	}
}
