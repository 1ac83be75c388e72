package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// instruments are the metrics that are counted as things happen; those that are
// looked up are in gauges.go.
type instruments struct {
	meter                     metric.Meter
	calls, replays            metric.Int64Counter
	took, stages, projection  metric.Float64Histogram
	evaluations               metric.Int64Counter
	evaluation                metric.Float64Histogram
	notifications, reconciled metric.Int64Counter
	passes, alarms            metric.Int64Counter
}

// Bounds of the histograms, in seconds: of calls, where a few milliseconds are
// usual, and of what waits for others.
var (
	quick = metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15)
	slow  = metric.WithExplicitBucketBoundaries(.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)
)

func newInstruments(m metric.Meter) (i instruments, err error) {
	counter := func(name, about string) metric.Int64Counter {
		c, failed := m.Int64Counter(name, metric.WithDescription(about))
		if failed != nil {
			err = failed
		}
		return c
	}
	seconds := func(name, about string, bounds metric.HistogramOption) metric.Float64Histogram {
		h, failed := m.Float64Histogram(name, metric.WithDescription(about), metric.WithUnit("s"), bounds)
		if failed != nil {
			err = failed
		}
		return h
	}
	i = instruments{
		meter:         m,
		calls:         counter("agentprocess.calls", "Calls of tools, by what was answered: ok, or the code of the refusal."),
		took:          seconds("agentprocess.call.duration", "How long calls of tools took.", quick),
		replays:       counter("agentprocess.replays", "Writes that had been carried out before, and were answered again."),
		stages:        seconds("agentprocess.write.stage.duration", "How long the stages of writes took.", quick),
		projection:    seconds("agentprocess.projection.lag", "How old a change was when the run itself stored it: a deadline, or a write whose front end had gone.", slow),
		evaluations:   counter("agentprocess.evaluations", "Questions put to the evaluator, by kind and by whether it answered."),
		evaluation:    seconds("agentprocess.evaluation.duration", "How long the evaluator took for a question.", slow),
		notifications: counter("agentprocess.notifications", "Notifications, by kind and by whether the channel took them."),
		reconciled:    counter("agentprocess.reservations.settled", "Reservations that a front end left behind, by whether the run had carried the write out."),
		passes:        counter("agentprocess.reconciler.passes", "Passes of the reconciler, by whether they came to an end."),
		alarms:        counter("agentprocess.reconciler.alarms", "Runs, at every pass, whose workflow is gone or lacks acknowledged writes."),
	}
	if err == nil {
		i.alarms.Add(context.Background(), 0) // the first alarm is to be an increase
	}
	return i, err
}

// Stage is operations.Service.Observe: how long a stage of a write took.
func (t *Telemetry) Stage(ctx context.Context, tool, stage string, took time.Duration) {
	if t.measuring {
		t.stages.Record(ctx, took.Seconds(), metric.WithAttributeSet(attribute.NewSet(attribute.String("tool", tool), attribute.String("stage", stage))))
	}
	if t.tracing {
		now := time.Now()
		_, span := t.tracer.Start(ctx, stage, trace.WithTimestamp(now.Add(-took)))
		span.End(trace.WithTimestamp(now))
	}
}

// Replayed counts a write that was answered again.
func (t *Telemetry) Replayed(ctx context.Context, tool string) {
	t.replays.Add(ctx, 1, metric.WithAttributes(attribute.String("tool", tool)))
}

// Projected takes the age of what a run has just stored itself.
func (t *Telemetry) Projected(ctx context.Context, age time.Duration) {
	t.projection.Record(ctx, max(0, age.Seconds()))
}

// Settled counts a reservation that was left behind.
func (t *Telemetry) Settled(ctx context.Context, executed bool) {
	t.reconciled.Add(ctx, 1, metric.WithAttributes(attribute.Bool("executed", executed)))
}

// Passed counts a pass of the reconciler.
func (t *Telemetry) Passed(ctx context.Context, err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	t.passes.Add(ctx, 1, metric.WithAttributes(attribute.String("result", result)))
}

// Alarmed counts a run that an operator has to decide about, at every pass.
func (t *Telemetry) Alarmed(ctx context.Context) { t.alarms.Add(ctx, 1) }

// Invalid counts a call that was refused before it was one: its arguments were not
// as the tool's schema asks.
func (t *Telemetry) Invalid(ctx context.Context, tool string) {
	t.calls.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(attribute.String("tool", tool), attribute.String("result", "invalid"))))
}
