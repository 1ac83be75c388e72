package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// scope is the name under which all of it is measured.
const scope = "github.com/agentprocess-temporal/server"

// Telemetry is the metrics and traces of one server.
type Telemetry struct {
	instruments
	tracer    trace.Tracer
	tracing   bool
	measuring bool
	metrics   *sdkmetric.MeterProvider
	registry  *prometheus.Registry
	ends      []func(context.Context) error
}

// New starts to measure, if anybody is to see it: scraped says that
// [Telemetry.Handler] will be served. The standard OTEL_* variables say where
// traces go, and whether metrics go anywhere besides; without them, neither leaves
// the process. An unknown exporter is an error.
func New(ctx context.Context, version string, scraped bool) (_ *Telemetry, err error) {
	t := &Telemetry{registry: prometheus.NewRegistry(), tracer: noop.NewTracerProvider().Tracer(scope)}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("telemetry: %w", err), t.Close(ctx))
		}
	}()
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "agentprocess"), attribute.String("service.version", version)),
		resource.WithFromEnv()) // which wins
	if err != nil {
		return nil, err
	}
	options := []sdkmetric.Option{sdkmetric.WithResource(res), sdkmetric.WithView(temporalView)}
	if scraped {
		reader, err := otelprom.New(otelprom.WithRegisterer(t.registry), otelprom.WithoutScopeInfo())
		if err != nil {
			return nil, err
		}
		options, t.measuring = append(options, sdkmetric.WithReader(reader)), true
	}
	if exporting("METRICS") {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return nil, err
		}
		options, t.measuring = append(options, sdkmetric.WithReader(reader)), true
	}
	t.metrics = sdkmetric.NewMeterProvider(options...)
	t.ends = append(t.ends, t.metrics.Shutdown)
	if exporting("TRACES") {
		exporter, err := autoexport.NewSpanExporter(ctx)
		if err != nil {
			return nil, err
		}
		provider := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(exporter))
		t.tracer, t.tracing = provider.Tracer(scope), true
		t.ends = append(t.ends, provider.Shutdown)
	}
	t.instruments, err = newInstruments(t.metrics.Meter(scope))
	return t, err
}

// exporting reports whether the environment asks for a signal to be sent.
func exporting(signal string) bool {
	if disabled := os.Getenv("OTEL_SDK_DISABLED"); strings.EqualFold(disabled, "true") {
		return false
	}
	switch os.Getenv("OTEL_" + signal + "_EXPORTER") {
	case "none":
		return false
	case "":
		return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
	}
	return true
}

// Handler serves the metrics to Prometheus. It is for a port of its own: it tells
// strangers how busy everybody is.
func (t *Telemetry) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), MaxRequestsInFlight: 4,
	})
}

// Close sends what has not been sent.
func (t *Telemetry) Close(ctx context.Context) error {
	var errs []error
	for _, end := range t.ends {
		errs = append(errs, end(ctx))
	}
	return errors.Join(errs...)
}
