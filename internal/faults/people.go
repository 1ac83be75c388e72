package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentprocess-temporal/server/run"
)

// person looks for work items and decides them.
func (w *world) person(ctx, until context.Context, c *caller) {
	var old run.PersonWork // an item seen before, whose snapshot may be stale
	for until.Err() == nil {
		page, err := read[struct{ Items []run.PersonWork }](until, c, "get_work", args{"limit": 10})
		page.Items = slices.DeleteFunc(page.Items, func(i run.PersonWork) bool { return i.Process == kept })
		if err != nil || len(page.Items) == 0 {
			pause(until, 50*time.Millisecond+time.Duration(c.rng.Int64N(int64(300*time.Millisecond))))
			continue
		}
		item := page.Items[c.rng.IntN(min(len(page.Items), 3))]
		if old.RunID != "" && c.chance(10) {
			w.decide(ctx, c, old, "")
		}
		old = item
		w.decide(ctx, c, item, "")
		pause(until, time.Duration(c.rng.Int64N(int64(100*time.Millisecond))))
	}
}

// decide decides an item: as told, or by the client's choice.
func (w *world) decide(ctx context.Context, c *caller, p run.PersonWork, decision run.Decision) {
	item := p.WorkItem
	n := c.rng.IntN(100)
	if decision == "" {
		switch {
		case n < 3:
			decision = run.FailedDecision
		case item.Escalation != nil && n < 60:
			decision = run.ReturnedDecision
		case item.Escalation != nil:
			decision = run.Completed
		case item.Kind == "approve" && n < 45, item.Kind == "approve" && p.Process == "large" && n < 85:
			decision = run.Rejected
		case item.Kind == "approve":
			decision = run.Approved
		default:
			decision = run.Completed
		}
	}
	if item.Escalation != nil && item.StepID == "draft" && decision == run.Completed {
		decision = run.ReturnedDecision // which needs no evidence
	}
	marker := fmt.Sprintf("%s-%d", c.name, c.sent+1)
	d := run.DecideItem{ItemID: item.ID, Snapshot: item.Snapshot, Decision: decision}
	a := args{"runId": p.RunID, "workItemId": item.ID, "snapshot": item.Snapshot, "decision": decision}
	if decision == run.Completed {
		d.Submission.Output = outputOf(item.StepID, marker, false)
		a["output"] = d.Submission.Output
	} else {
		d.Note = marker
		a["note"] = marker
	}
	w.do(ctx, c, p.RunID, run.Command{Decide: &d}, a)
}
