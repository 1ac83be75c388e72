package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/agentprocess-temporal/server/internal/telemetry"
	"github.com/agentprocess-temporal/server/workflows"
)

// flushWithin bounds the sending of what was measured last.
const flushWithin = 5 * time.Second

// metricsServer serves metrics to Prometheus.
type metricsServer struct {
	listener net.Listener
	http     *http.Server
}

// startTelemetry begins to measure, before anything connects.
func (s *Server) startTelemetry(ctx context.Context) (err error) {
	if s.telemetry, err = telemetry.New(ctx, s.opts.Version, s.opts.MetricsAddr != ""); err != nil {
		return err
	}
	if err := s.telemetry.Watch(s.pool, s.opts.Log); err != nil {
		return err
	}
	if err := s.telemetry.Temporal(&s.opts.Temporal); err != nil {
		return err
	}
	if s.opts.MetricsAddr == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.opts.MetricsAddr)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.telemetry.Handler(s.opts.Log))
	s.metrics = &metricsServer{listener, &http.Server{Handler: mux, ReadTimeout: s.opts.Timeouts.Header, WriteTimeout: s.opts.Timeouts.Read}}
	s.MetricsURL = "http://" + listener.Addr().String() + "/metrics"
	return nil
}

func (m *metricsServer) serve(failed chan<- error) {
	if m == nil {
		return
	}
	go func() {
		if err := m.http.Serve(m.listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("metrics: %w", err)
		}
	}()
}

func (s *Server) endTelemetry() {
	if s.metrics != nil {
		_ = s.metrics.http.Close() // who scrapes comes again
		_ = s.metrics.listener.Close()
	}
	if s.telemetry == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	if err := s.telemetry.Close(ctx); err != nil {
		s.opts.Log.WarnContext(ctx, "the last measurements were not sent", "error", err)
	}
}

// projected takes how old a change was when a run stored it itself.
func (s *Server) projected(ctx context.Context, age time.Duration) {
	if s.telemetry != nil {
		s.telemetry.Projected(ctx, age)
	}
}

// observe takes how long a stage of a write took.
func (s *Server) observe(ctx context.Context, tool, stage string, took time.Duration) {
	s.telemetry.Stage(ctx, tool, stage, took)
	if s.opts.Observe != nil {
		s.opts.Observe(ctx, tool, stage, took)
	}
}

// overdueRuns finds what runs show of themselves in Temporal: Postgres has no
// index of it.
var overdueRuns = fmt.Sprintf(`WorkflowType = '%s' AND ExecutionStatus = 'Running' AND %s = true`,
	workflows.TypeRun, workflows.AttrOverdue.GetName())

// countOverdue counts the open runs that are overdue.
func (s *Server) countOverdue(ctx context.Context) (int64, error) {
	counted, err := s.temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: overdueRuns})
	return counted.GetCount(), err
}
