package telemetry

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"
	temporalotel "go.temporal.io/sdk/contrib/opentelemetry"
)

// temporalScope is the name under which Temporal's SDK measures, and what runs
// count through it.
const temporalScope = "temporal"

// Temporal adds what Temporal's SDK measures to a client's options, where anybody
// is to see it, and its spans where traces are sent.
func (t *Telemetry) Temporal(o *client.Options) error {
	if t.measuring {
		o.MetricsHandler = temporalotel.NewMetricsHandler(temporalotel.MetricsHandlerOptions{
			Meter: t.metrics.Meter(temporalScope), UseMonotonicCounters: true, OnError: func(error) {},
		})
	}
	if !t.tracing {
		return nil
	}
	tracing, err := temporalotel.NewTracingInterceptor(temporalotel.TracerOptions{
		Tracer: t.tracer, TextMapPropagator: propagation.TraceContext{}, DisableBaggage: true,
		// What somebody else put into a header must not keep a run from going on.
		AllowInvalidParentSpans: true,
		SpanStarter: func(ctx context.Context, tracer trace.Tracer, name string, opts ...trace.SpanStartOption) trace.Span {
			_, span := tracer.Start(ctx, name, opts...)
			return wordless{span}
		},
	})
	if err != nil {
		return err
	}
	o.Interceptors = append(o.Interceptors, tracing)
	return nil
}

// wordless is a span that says that there was an error, and not what it says: it
// may hold an address, or what somebody wrote. The log has it.
type wordless struct{ trace.Span }

// RecordError implements trace.Span.
func (wordless) RecordError(error, ...trace.EventOption) {}

// SetStatus implements trace.Span.
func (w wordless) SetStatus(code codes.Code, _ string) { w.Span.SetStatus(code, "") }

// temporalSeconds are the bounds of what the SDK times: it has none of its own, and
// OpenTelemetry's are made for milliseconds.
var temporalSeconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// temporalView chooses those bounds, and takes off what runs count through the SDK
// the labels that it adds: they tell nothing here.
func temporalView(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	if i.Scope.Name != temporalScope {
		return sdkmetric.Stream{}, false
	}
	s := sdkmetric.Stream{Name: i.Name, Description: i.Description, Unit: i.Unit}
	if i.Kind == sdkmetric.InstrumentKindHistogram && i.Unit == "s" {
		s.Aggregation = sdkmetric.AggregationExplicitBucketHistogram{Boundaries: temporalSeconds}
	}
	if strings.HasPrefix(i.Name, "agentprocess_") {
		s.AttributeFilter = attribute.NewAllowKeysFilter("result")
	}
	return s, true
}
