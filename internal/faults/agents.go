package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agentprocess-temporal/server/run"
)

// agent finds work, claims it and does something with it.
func (w *world) agent(ctx, until context.Context, c *caller) {
	for until.Err() == nil {
		page, err := read[struct{ Items []run.AgentWork }](until, c, "get_work", args{"limit": 10})
		page.Items = slices.DeleteFunc(page.Items, func(i run.AgentWork) bool { return i.Process == kept })
		if err != nil || len(page.Items) == 0 {
			pause(until, 50*time.Millisecond+time.Duration(c.rng.Int64N(int64(300*time.Millisecond))))
			continue
		}
		// Few look far: they get into each other's way.
		item := page.Items[c.rng.IntN(min(len(page.Items), 3))]
		w.work(ctx, c, item.RunID, item.StepID)
		if c.chance(10) {
			w.event(ctx, c, item.RunID)
		}
		pause(until, time.Duration(c.rng.Int64N(int64(60*time.Millisecond))))
	}
}

// claimed is the result of a claim or a renewal.
type claimed struct {
	Token string
	Data  run.Data
}

// work claims a step and, mostly, gets it done.
func (w *world) work(ctx context.Context, c *caller, runID, stepID string) {
	done := w.do(ctx, c, runID, run.Command{Claim: &run.ClaimStep{StepID: stepID, Lease: int64(w.stack.lease.Seconds())}},
		args{"runId": runID, "stepId": stepID})
	var got claimed
	if !done.OK || json.Unmarshal(done.Data, &got) != nil {
		return
	}
	token := got.Token
	if c.chance(15) {
		if token = w.renew(ctx, c, runID, token); token == "" {
			return
		}
	}
	switch {
	case c.chance(4):
		return // it walks away, and the lease ends
	case c.chance(6):
		note := "I cannot."
		w.do(ctx, c, runID, run.Command{Escalate: &run.EscalateStep{Holder: w.holder(token), Note: note}}, args{"token": token, "note": note})
		return
	case c.chance(12): // not good enough
		w.submit(ctx, c, runID, stepID, token, true)
	}
	if c.chance(3) { // too late
		pause(ctx, w.stack.lease+time.Second)
	}
	if c.chance(30) {
		w.whileStoring(ctx, c, runID, func() *call { return w.submit(ctx, c, runID, stepID, token, false) })
	} else {
		w.submit(ctx, c, runID, stepID, token, false)
	}
	if c.chance(5) { // and once more, which is stale
		w.submit(ctx, c, runID, stepID, token, false)
	}
}

func (w *world) renew(ctx context.Context, c *caller, runID, token string) string {
	token, _ = w.renewed(ctx, c, runID, token)
	return token
}

// renewed returns the new token, empty if the claim is lost, and the call.
func (w *world) renewed(ctx context.Context, c *caller, runID, token string) (string, *call) {
	progress := "half way"
	done := w.do(ctx, c, runID, run.Command{Renew: &run.RenewClaim{Holder: w.holder(token), Progress: progress, Lease: int64(w.stack.lease.Seconds())}},
		args{"token": token, "progress": progress})
	var got claimed
	if !done.OK || json.Unmarshal(done.Data, &got) != nil {
		return "", done
	}
	return got.Token, done
}

// submit submits a step; a bad submission lacks its output.
func (w *world) submit(ctx context.Context, c *caller, runID, stepID, token string, bad bool) *call {
	sub := run.Submission{}
	a := args{"token": token}
	if stepID == "draft" {
		if evidence, files := w.upload(ctx, c); evidence != nil {
			sub.Evidence, sub.Files = []run.Evidence{*evidence}, files
			a["evidence"] = []args{{"kind": evidence.Kind, "ref": evidence.Ref}}
		}
		next, reason := "approve", "It is good."
		if c.chance(10) {
			next, reason = "drop", "It is not."
		}
		sub.Next, sub.Reason = &next, &reason
		a["next"], a["reason"] = next, reason
	}
	marker := fmt.Sprintf("%s-%d", c.name, c.sent+1)
	sub.Summary = "Did it."
	sub.Output = outputOf(stepID, marker, bad)
	a["summary"], a["output"] = sub.Summary, sub.Output
	return w.do(ctx, c, runID, run.Command{Submit: &run.SubmitStep{Holder: w.holder(token), Submission: sub}}, a)
}

func outputOf(stepID, marker string, bad bool) json.RawMessage {
	switch {
	case bad:
		return json.RawMessage(`{"extra":1}`)
	case stepID == "draft":
		return json.RawMessage(fmt.Sprintf(`{"marker":%q,"score":0.1000000000000000000001}`, marker))
	}
	return json.RawMessage(fmt.Sprintf(`{"marker":%q}`, marker))
}
