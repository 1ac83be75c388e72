package main

import (
	"context"
	"encoding/json"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/run"
)

// driveWithin bounds the driving of one run to its end, leases and waits included.
const driveWithin = 90 * time.Second

// goOn shows that open runs can go on: each takes a write, and some are driven to
// their end.
func (v *verifier) goOn(ctx context.Context, most int) {
	var open []string
	for _, state := range []string{"active", "waiting"} {
		cursor := ""
		for {
			a := args{"state": state, "limit": 100}
			if cursor != "" {
				a["cursor"] = cursor
			}
			page, err := read[struct {
				Items      []struct{ ID string }
				NextCursor *string
			}](ctx, v.reader, "list_runs", a)
			if err != nil {
				v.problems.add("runs cannot be listed: %v", err)
				return
			}
			for _, each := range page.Items {
				open = append(open, each.ID)
			}
			if page.NextCursor == nil {
				break
			}
			cursor = *page.NextCursor
		}
	}
	var g errgroup.Group
	g.SetLimit(4)
	for i, id := range open {
		g.Go(func() error {
			d := &driver{verifier: v, id: id}
			if !v.problems.enough() && d.nudge(ctx) && i < most {
				d.drive(ctx)
			}
			return nil
		})
	}
	_ = g.Wait() // no error: what is wrong is a problem
}

// driver takes one run to its end, all parts being up.
type driver struct {
	*verifier
	id string
}

// as is a client of its own, so that drivers do not share choices.
func (d *driver) as(subject string) *caller {
	c := *d.callers[subject]
	c.name += "-" + d.id
	c.sent = int(time.Now().UnixNano() % 1e15) // never the same twice
	return &c
}

// nudge reports whether the run, if it is still open, takes a write.
func (d *driver) nudge(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, driveWithin)
	defer cancel()
	done := d.event(ctx, d.as("ops@example.com"), d.id)
	d.problems.checked("open runs that took a write in the end", 1)
	if !done.OK && (done.Refusal == nil || done.Refusal.Code != run.Conflict) {
		d.problems.add("an open run takes no write: %v", done)
		return false
	}
	return true
}

func (d *driver) drive(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, driveWithin)
	defer cancel()
	var view run.View
	for ctx.Err() == nil {
		next, err := read[run.View](ctx, d.reader, "get_run", args{"runId": d.id})
		if err != nil {
			continue
		}
		if view = next; view.Run.State == run.Ended || view.Run.State == run.Cancelled {
			d.problems.checked("open runs driven to their end", 1)
			return
		}
		if !d.act(ctx, view) {
			wait(ctx, 200*time.Millisecond)
		}
	}
	text, err := json.Marshal(view.Steps)
	d.problems.add("%s does not come to its end: %s (%v)", d.id, text, err)
}

// act does one thing that takes the run on, if there is one to do.
func (d *driver) act(ctx context.Context, view run.View) bool {
	if len(view.WorkItems) > 0 {
		item := view.WorkItems[0]
		by, decision := "p2@example.com", run.Completed
		switch {
		case item.Escalation != nil:
			by, decision = "ops@example.com", run.ReturnedDecision
		case item.Kind == "approve":
			decision = run.Approved
			if view.Run.Process == kept {
				by = "p4@example.com"
			}
		}
		d.decide(ctx, d.as(by), run.PersonWork{RunID: d.id, WorkItem: item}, decision)
		return true
	}
	for _, step := range view.Steps {
		if step.State == nil {
			continue
		}
		switch {
		case *step.State == run.StepReady:
			c := d.as("a1")
			done := d.do(ctx, c, d.id, run.Command{Claim: &run.ClaimStep{StepID: step.ID, Lease: int64(d.stack.lease.Seconds())}},
				args{"runId": d.id, "stepId": step.ID})
			var got claimed
			if done.OK && json.Unmarshal(done.Data, &got) == nil {
				d.submit(ctx, c, d.id, step.ID, got.Token, false)
			}
			return true
		case *step.State == run.StepWaiting && step.Kind == "wait_for":
			d.event(ctx, d.as("ops@example.com"), d.id)
			return true
		}
	}
	return false
}
