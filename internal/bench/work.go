package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/records"
	"github.com/agentprocess-temporal/server/run"
)

// workSize is get_work with so many ready steps in the read model.
type workSize struct {
	Steps int `json:"steps"`
	spread
	// Relative is the p99 over that of the smallest size.
	Relative float64 `json:"relative"`
}

const (
	// storedAtOnce is how many records one transaction stores.
	storedAtOnce = 200
	// pagesDeep is how far a caller pages before it begins again.
	pagesDeep = 5
)

// measureWork fills the read model, an organization for each size, and asks for
// work in turn.
func measureWork(ctx context.Context, s *stack, p plan) ([]workSize, error) {
	callers := make([]*mcpClient, len(p.WorkSizes))
	for i, steps := range p.WorkSizes {
		progress("storing %d ready steps", steps)
		org := fmt.Sprintf("bench-%d", steps)
		if err := s.publish(ctx, org, sequenceName, sequence()); err != nil {
			return nil, err
		}
		if err := s.fill(ctx, org, steps); err != nil {
			return nil, err
		}
		var err error
		if callers[i], err = s.as(agent(org)); err != nil {
			return nil, err
		}
	}
	// As autovacuum would, some time after so many rows.
	if _, err := s.pool.Exec(ctx, `VACUUM ANALYZE runs, work`); err != nil {
		return nil, err
	}
	progress("measuring get_work")
	took := make([]samples, len(callers))
	cursors := make([]string, len(callers))
	for n := range p.WorkCalls + pagesDeep {
		for i, c := range callers {
			if n%pagesDeep == 0 {
				cursors[i] = ""
			}
			began := time.Now()
			next, err := workPage(ctx, c, cursors[i])
			if err != nil {
				return nil, err
			}
			if n >= pagesDeep { // the first few warm up
				took[i] = append(took[i], time.Since(began))
			}
			cursors[i] = next
		}
	}
	var all []workSize
	for i, t := range took {
		w := workSize{Steps: p.WorkSizes[i], spread: t.spread()}
		w.Relative = ratio(w.P99, ms(took[0].quantile(0.99)))
		all = append(all, w)
	}
	return all, nil
}

func workPage(ctx context.Context, c *mcpClient, cursor string) (next string, err error) {
	args := arguments{}
	if cursor != "" {
		args["cursor"] = cursor
	}
	data, err := c.call(ctx, "get_work", args)
	if err != nil {
		return "", err
	}
	var page struct {
		Items      []json.RawMessage `json:"items"`
		NextCursor string            `json:"nextCursor"`
	}
	if err := json.Unmarshal(data, &page); err != nil {
		return "", err
	}
	if len(page.Items) == 0 || page.NextCursor == "" {
		return "", errors.New("a page of work is missing")
	}
	return page.NextCursor, nil
}

// fill stores the records of runs with one ready step each, as their workflows
// would have left them.
func (s *stack) fill(ctx context.Context, org string, steps int) error {
	p, issues := process.Parse([]byte(sequence()))
	if len(issues) > 0 {
		return fmt.Errorf("parse: %w", issues)
	}
	oldest := time.Now().Add(-24 * time.Hour)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for from := 0; from < steps; from += storedAtOnce {
		g.Go(func() error {
			b := &pgx.Batch{}
			for i := from; i < min(from+storedAtOnce, steps); i++ {
				r := run.New(run.Start{
					Org: org, RunID: uuid.NewString(), Process: p, Version: 1, Mode: run.Live,
					Inputs: json.RawMessage(fmt.Sprintf(`{"vendorName":"Vendor %d","amount":%d.50,"country":"DE"}`, i, i)),
					By:     run.Actor{ID: "a1"}, Limits: run.Limits{RunDataBytes: operations.DefaultRunDataBytes},
				}, oldest.Add(time.Duration(i)*500*time.Millisecond))
				row, err := operations.Row(r)
				if err != nil {
					return err
				}
				records.QueueApply(b, row)
			}
			return s.pool.SendBatch(ctx, b).Close()
		})
	}
	return g.Wait()
}
