package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/agentprocess-temporal/server/internal/postgres"
)

const (
	// lookedUpEvery is how old what was looked up may be: however often, and from
	// however many places, the metrics are read, Postgres is asked so often.
	lookedUpEvery = 15 * time.Second
	// lookUpWithin bounds one look.
	lookUpWithin = 5 * time.Second
	// processesAtMost bounds the label: the processes with the most to do have
	// their own, the others are "other".
	processesAtMost = 50
)

// state is what Postgres knows of work, over all organizations.
type state struct {
	pending int64
	oldest  float64
	work    []work
	runs    []openRuns
}

type work struct {
	process string
	person  bool
	count   int64
	oldest  float64
}

type openRuns struct {
	process, state string
	count          int64
}

const (
	pendingQuery = `SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 FROM requests WHERE NOT done`
	workQuery    = `WITH w AS (
			SELECT process, NOT agent AS person, count(*) AS n,
				extract(epoch FROM clock_timestamp() - min(available))::float8 AS oldest
			FROM work WHERE available <= clock_timestamp() GROUP BY 1, 2)
		SELECT CASE WHEN r <= $1 THEN process ELSE 'other' END, person, sum(n)::bigint, max(oldest)
		FROM (SELECT *, dense_rank() OVER (ORDER BY total DESC, process) AS r
			FROM (SELECT *, sum(n) OVER (PARTITION BY process) AS total FROM w) t) u
		GROUP BY 1, 2`
	runsQuery = `WITH o AS (
			SELECT process, state, count(*) AS n FROM runs WHERE state NOT IN ('ended', 'cancelled') GROUP BY 1, 2)
		SELECT CASE WHEN r <= $1 THEN process ELSE 'other' END, state, sum(n)::bigint
		FROM (SELECT *, dense_rank() OVER (ORDER BY total DESC, process) AS r
			FROM (SELECT *, sum(n) OVER (PARTITION BY process) AS total FROM o) t) u
		GROUP BY 1, 2`
)

// Watch adds the metrics that are looked up in Postgres when somebody reads them.
// While Postgres does not answer they are absent.
func (t *Telemetry) Watch(db postgres.DB, log *slog.Logger) error {
	var err error
	gauge := func(name, about string) metric.Int64ObservableGauge {
		g, failed := t.meter.Int64ObservableGauge(name, metric.WithDescription(about))
		if failed != nil {
			err = failed
		}
		return g
	}
	age := func(name, about string) metric.Float64ObservableGauge {
		g, failed := t.meter.Float64ObservableGauge(name, metric.WithDescription(about), metric.WithUnit("s"))
		if failed != nil {
			err = failed
		}
		return g
	}
	pending := gauge("agentprocess.requests.pending", "Reservations of writes that are under way, or were left behind.")
	oldest := age("agentprocess.requests.pending.age", "How long ago the oldest of them was made.")
	ready := gauge("agentprocess.steps.ready", "Agent steps that can be claimed.")
	readyAge := age("agentprocess.steps.ready.age", "How long the one that has waited longest has been ready.")
	items := gauge("agentprocess.work_items.open", "Work items that wait for a person.")
	itemsAge := age("agentprocess.work_items.open.age", "How long the one that has waited longest has been open.")
	open := gauge("agentprocess.runs.open", "Runs that have not ended.")
	if err != nil {
		return err
	}
	look := cached(db)
	_, err = t.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		s, err := look(ctx)
		if err != nil {
			log.WarnContext(ctx, "work cannot be counted now", "error", err)
			return nil
		}
		o.ObserveInt64(pending, s.pending)
		o.ObserveFloat64(oldest, s.oldest)
		for _, w := range s.work {
			of := metric.WithAttributes(attribute.String("process", w.process))
			count, age := ready, readyAge
			if w.person {
				count, age = items, itemsAge
			}
			o.ObserveInt64(count, w.count, of)
			o.ObserveFloat64(age, w.oldest, of)
		}
		for _, r := range s.runs {
			o.ObserveInt64(open, r.count, metric.WithAttributes(attribute.String("process", r.process), attribute.String("state", r.state)))
		}
		return nil
	}, pending, oldest, ready, readyAge, items, itemsAge, open)
	return err
}

// cached looks again once what it found last is old.
func cached(db postgres.DB) func(context.Context) (*state, error) {
	var mu sync.Mutex
	var last *state
	var err error
	var at time.Time
	return func(ctx context.Context) (*state, error) {
		mu.Lock()
		defer mu.Unlock()
		if at.IsZero() || time.Since(at) > lookedUpEvery {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookUpWithin)
			defer cancel()
			last, err = lookUp(ctx, db)
			at = time.Now()
		}
		return last, err
	}
}

func lookUp(ctx context.Context, db postgres.DB) (*state, error) {
	s := &state{}
	b := &pgx.Batch{}
	b.Queue(pendingQuery).QueryRow(func(row pgx.Row) error { return row.Scan(&s.pending, &s.oldest) })
	b.Queue(workQuery, processesAtMost).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var w work
			if err := rows.Scan(&w.process, &w.person, &w.count, &w.oldest); err != nil {
				return err
			}
			s.work = append(s.work, w)
		}
		return rows.Err()
	})
	b.Queue(runsQuery, processesAtMost).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var r openRuns
			if err := rows.Scan(&r.process, &r.state, &r.count); err != nil {
				return err
			}
			s.runs = append(s.runs, r)
		}
		return rows.Err()
	})
	return s, db.SendBatch(ctx, b).Close()
}
