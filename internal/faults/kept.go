package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/agentprocess-temporal/server/run"
)

// kept is the process whose runs nobody works on but their keeper: each is in every
// state at once, and stays there from one version of the server to the next.
const kept = "kept"

// keptRuns are how many there are.
const keptRuns = 3

// keptRun is a run with a claimed step, a pending approval, a waiting timer, an
// escalation and a held event.
type keptRun struct {
	id    string
	token string // of the claim; empty once it is lost
	last  *call  // the latest renewal
}

// keep brings runs into all these states.
func (v *verifier) keep(ctx context.Context, until time.Time) ([]*keptRun, error) {
	var all []*keptRun
	for i := range keptRuns {
		k := &keptRun{}
		c := v.keeper(agentID(i))
		began := v.start(ctx, c, kept, args{"until": until.UTC().Format(time.RFC3339)})
		if !began.OK {
			return nil, fmt.Errorf("keep a run: %v", began)
		}
		k.id = began.RunID
		boss := v.keeper(boss)
		if held := v.eventOf(ctx, boss, k.id, "go"); !held.OK || consumed(held) {
			return nil, fmt.Errorf("the event is not held: %v", held)
		}
		stuck := v.claim(ctx, c, k.id, "stuck")
		note := "I cannot."
		done := v.do(ctx, c, k.id, run.Command{Escalate: &run.EscalateStep{Holder: v.holder(stuck), Note: note}}, args{"token": stuck, "note": note})
		if !done.OK {
			return nil, fmt.Errorf("the escalation: %v", done)
		}
		if k.token = v.claim(ctx, c, k.id, "hold"); k.token == "" {
			return nil, fmt.Errorf("the step of %s was not claimed", k.id)
		}
		all = append(all, k)
	}
	v.problems.checked("runs in every state when the upgrade began", len(all))
	return all, nil
}

// keeper is a client of its own, so that it shares no requestIds with others.
func (v *verifier) keeper(id string) *caller {
	v.keepers++
	c := v.caller(v.seed, id, 2000+v.keepers)
	c.patient = true
	return c
}

func (w *world) claim(ctx context.Context, c *caller, runID, stepID string) (token string) {
	done := w.do(ctx, c, runID, run.Command{Claim: &run.ClaimStep{StepID: stepID, Lease: int64(w.stack.lease.Seconds())}},
		args{"runId": runID, "stepId": stepID})
	var got claimed
	if !done.OK || json.Unmarshal(done.Data, &got) != nil {
		return ""
	}
	return got.Token
}

// hold renews the claims until it is told to let go.
func (v *verifier) hold(ctx context.Context, runs []*keptRun) (letGo func()) {
	until, stop := context.WithCancel(ctx)
	answered, giveUp := context.WithCancel(ctx)
	var holding sync.WaitGroup
	for i, k := range runs {
		c := v.keeper(agentID(i))
		holding.Go(func() {
			for until.Err() == nil && k.token != "" {
				k.token, k.last = v.renewed(answered, c, k.id, k.token)
				pause(until, v.stack.lease/4)
			}
		})
	}
	return func() {
		stop()
		defer time.AfterFunc(driveWithin, giveUp).Stop()
		holding.Wait()
		giveUp()
	}
}

// release submits what was claimed in the old version and takes each run to its
// end. Only faults may have cost a claim.
func (v *verifier) release(ctx context.Context, runs []*keptRun, faults bool) {
	for i, k := range runs {
		if v.problems.enough() {
			return
		}
		inTime, cancel := context.WithTimeout(ctx, driveWithin)
		switch {
		case k.token != "":
			done := v.submit(inTime, v.keeper(agentID(i)), k.id, "hold", k.token, false)
			if !done.OK && !faults {
				v.problems.add("a step claimed before the upgrade cannot be submitted after it: %v", done)
			}
		case !faults:
			v.problems.add("a claim on %s was lost in the upgrade: %v", k.id, k.last)
		}
		(&driver{verifier: v, id: k.id}).drive(inTime)
		cancel()
		view, err := read[run.View](ctx, v.reader, "get_run", args{"runId": k.id})
		if err != nil || view.Run.Outcome == nil || *view.Run.Outcome != "kept" {
			v.problems.add("%s was carried across the upgrade and does not end as it should: %+v (%v)", k.id, view.Run, err)
			continue
		}
		v.problems.checked("runs begun in the old version, in every state, and ended in the new one", 1)
	}
}
