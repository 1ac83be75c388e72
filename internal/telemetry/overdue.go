package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// WatchOverdue adds how many open runs are overdue, which count says when somebody
// reads the metrics: as seldom, and for as long, as Postgres is asked. While it
// does not answer the metric is absent.
func (t *Telemetry) WatchOverdue(count func(context.Context) (int64, error), log *slog.Logger) error {
	overdue, err := t.meter.Int64ObservableGauge("agentprocess.runs.overdue",
		metric.WithDescription("Open runs with a step whose due has passed."))
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var at time.Time
	var last int64
	var failed error
	_, err = t.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		mu.Lock()
		defer mu.Unlock()
		if at.IsZero() || time.Since(at) > lookedUpEvery {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookUpWithin)
			defer cancel()
			last, failed = count(ctx)
			at = time.Now()
			if failed != nil {
				log.WarnContext(ctx, "overdue runs cannot be counted now", "error", failed)
			}
		}
		if failed == nil {
			o.ObserveInt64(overdue, last)
		}
		return nil
	}, overdue)
	return err
}
