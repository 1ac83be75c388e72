package telemetry

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/agentprocess-temporal/server/evaluator"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/notify"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// Caller calls tools, as the MCP endpoint needs it.
type Caller interface {
	Call(ctx context.Context, caller identity.Caller, tool string, args json.RawMessage) (json.RawMessage, *run.Error)
}

// Continue has the trace of a request begin where its caller's does (the header
// traceparent).
func (t *Telemetry) Continue(next http.Handler) http.Handler {
	if !t.tracing {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Calls measures every call of a tool, and traces it.
func (t *Telemetry) Calls(next Caller) Caller { return calls{t, next} }

type calls struct {
	*Telemetry
	next Caller
}

// Call implements Caller.
func (c calls) Call(ctx context.Context, caller identity.Caller, tool string, args json.RawMessage) (json.RawMessage, *run.Error) {
	began := time.Now()
	ctx, span := c.tracer.Start(ctx, "tools/call "+tool, trace.WithSpanKind(trace.SpanKindServer))
	data, refused := c.next.Call(ctx, caller, tool, args)
	result := "ok"
	if refused != nil {
		result = string(refused.Code)
	}
	if span.IsRecording() {
		span.SetAttributes(attribute.String("agentprocess.tool", tool), attribute.String("agentprocess.result", result))
		if refused != nil && refused.Code == run.Retry {
			span.SetStatus(codes.Error, result)
		}
	}
	span.End()
	if !c.measuring {
		return data, refused
	}
	c.calls.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(attribute.String("tool", tool), attribute.String("result", result))))
	c.took.Record(ctx, time.Since(began).Seconds(), metric.WithAttributeSet(attribute.NewSet(attribute.String("tool", tool))))
	return data, refused
}

// Evaluator measures an evaluator; nil stays nil.
func (t *Telemetry) Evaluator(next evaluator.Evaluator) evaluator.Evaluator {
	if next == nil {
		return nil
	}
	return measured{t, next}
}

type measured struct {
	*Telemetry
	next evaluator.Evaluator
}

func asked[A any](ctx context.Context, t *Telemetry, kind string, ask func(context.Context) (A, error)) (A, error) {
	began := time.Now()
	ctx, span := t.tracer.Start(ctx, "evaluate "+kind, trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	answer, err := ask(ctx)
	result := "answered"
	if err != nil {
		result = "failed"
		span.SetStatus(codes.Error, result)
	}
	of := attribute.String("kind", kind)
	t.evaluations.Add(ctx, 1, metric.WithAttributes(of, attribute.String("result", result)))
	t.evaluation.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(of))
	return answer, err
}

// YesNo implements evaluator.Evaluator.
func (m measured) YesNo(ctx context.Context, about evaluator.Material, ask string) (evaluator.Probability, error) {
	return asked(ctx, m.Telemetry, "yes_no", func(ctx context.Context) (evaluator.Probability, error) { return m.next.YesNo(ctx, about, ask) })
}

// Choose implements evaluator.Evaluator.
func (m measured) Choose(ctx context.Context, about evaluator.Material, ask string, among []process.Choice) (evaluator.Chosen, error) {
	return asked(ctx, m.Telemetry, "choice", func(ctx context.Context) (evaluator.Chosen, error) { return m.next.Choose(ctx, about, ask, among) })
}

// Grade implements evaluator.Evaluator.
func (m measured) Grade(ctx context.Context, about evaluator.Material, ask string, levels []string) (evaluator.Graded, error) {
	return asked(ctx, m.Telemetry, "rubric", func(ctx context.Context) (evaluator.Graded, error) { return m.next.Grade(ctx, about, ask, levels) })
}

// Channel counts what a channel delivers.
func (t *Telemetry) Channel(next notify.Channel) notify.Channel { return counted{t, next} }

type counted struct {
	*Telemetry
	next notify.Channel
}

// Deliver implements notify.Channel.
func (c counted) Deliver(ctx context.Context, all []notify.Notification) error {
	err := c.next.Deliver(ctx, all)
	result := "sent"
	if err != nil {
		result = "failed"
	}
	for _, n := range all {
		c.notifications.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", string(n.Kind)), attribute.String("result", result)))
	}
	return err
}
