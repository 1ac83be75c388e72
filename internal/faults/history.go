package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/internal/faults/model"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/run"
)

// checkWithin bounds the search for an order of one run's writes.
const checkWithin = 30 * time.Second

// linearize looks for an order of the writes to every run.
func (v *verifier) linearize() {
	byRun := map[string][]*call{}
	for _, c := range v.calls.all() {
		if c.RunID != "" && (c.OK || c.Refusal != nil) {
			byRun[c.RunID] = append(byRun[c.RunID], c)
		}
	}
	var g errgroup.Group
	g.SetLimit(2)
	var mu sync.Mutex
	writes, longest := 0, 0
	for _, id := range sortedKeys(byRun) {
		view, ok := v.views[id]
		if !ok {
			if !slices.Contains(v.runs, id) {
				v.problems.add("run %s has no record, and a caller has its id", id)
			}
			continue
		}
		g.Go(func() error {
			operations := v.operations(id, byRun[id], view)
			if view.Run.Process == "checked" {
				return nil // a check holds a claim between two moments: the model knows writes of one
			}
			result := model.Check(operations, checkWithin)
			mu.Lock()
			defer mu.Unlock()
			writes += len(operations)
			longest = max(longest, len(operations))
			switch {
			case result.GaveUp:
				v.problems.checked("histories too long to decide", 1)
			case !result.Linearizable:
				text := fmt.Sprintf("no order of the %d writes to %s (%s) gives these answers; %d can be put in order", len(operations), id, view.Run.Process, result.Longest)
				for _, s := range result.Stuck {
					text += "\n  " + s
				}
				v.problems.add("%s", text)
			default:
				v.problems.checked("runs whose histories are linearizable", 1)
			}
			return nil
		})
	}
	_ = g.Wait() // no error: what is wrong is a problem
	v.problems.checked("writes in them", writes)
	v.problems.checked("writes in the longest", longest)
}

// operations is the history of one run for the model, with the read at the end.
func (v *verifier) operations(id string, calls []*call, view run.View) []model.Operation {
	marks := v.marks(id, calls, view)
	history := make([]model.Operation, 0, len(calls)+1)
	for _, c := range calls {
		o := model.Operation{Command: c.Command, Call: c.Began, Return: c.Ended, Refused: c.Refusal, Note: c.String()}
		if c.Tool == "start_run" {
			o.Start, o.At = v.startOf(c, view), view.Run.StartedAt
		}
		if c.OK && c.Command != nil {
			o.At = marks[c.RequestID]
			v.granted(&o, c)
		}
		history = append(history, o)
	}
	read := v.reads[id]
	return append(history, model.Operation{Read: true, View: &view, Call: read[0], Return: read[1], Note: "the read at the end"})
}

// granted reads from an answer what the model compares.
func (v *verifier) granted(o *model.Operation, c *call) {
	switch {
	case c.Command.Claim != nil, c.Command.Renew != nil:
		var got struct {
			Token     string
			ExpiresAt time.Time
		}
		if err := json.Unmarshal(c.Data, &got); err != nil {
			v.problems.add("%v: %v", c, err)
			return
		}
		o.Claim = &run.Granted{Holder: v.holder(got.Token), ExpiresAt: got.ExpiresAt}
		o.At = got.ExpiresAt.Add(-v.stack.lease)
	case c.Command.Event != nil:
		var got struct{ ConsumedBy *string }
		if err := json.Unmarshal(c.Data, &got); err != nil {
			v.problems.add("%v: %v", c, err)
		} else if got.ConsumedBy != nil {
			o.ConsumedBy = *got.ConsumedBy
		}
	}
}

func (v *verifier) startOf(c *call, view run.View) *run.Start {
	var a struct {
		Inputs json.RawMessage
	}
	if err := json.Unmarshal(c.Args, &a); err != nil {
		panic(err) // we made it
	}
	p := v.processes[c.Process]
	bindings := map[string]string{}
	for _, role := range p.Roles() {
		bindings[role] = roles[role]
	}
	return &run.Start{
		Org: org, RunID: c.RunID, Process: p, Version: view.Run.Version, Bindings: bindings, Mode: c.Mode, Inputs: a.Inputs,
		By:        run.Actor{ID: c.By.Subject, Person: c.By.IsPerson(), Groups: c.By.Groups, Operator: c.By.Operator},
		Limits:    run.Limits{RunDataBytes: operations.DefaultRunDataBytes},
		RequestID: c.RequestID, Digest: c.RequestID,
	}
}

// marks finds when each write was carried out, by what it left in run data, and
// holds what is there against the calls: each acknowledged completion once, no
// refused one.
func (v *verifier) marks(id string, calls []*call, view run.View) map[string]time.Time {
	found := map[string]int{}
	at := map[string]time.Time{}
	see := func(marker string, when time.Time) {
		if marker != "" {
			found[marker]++
			at[marker] = when
		}
	}
	for _, step := range view.Data.Steps {
		for _, c := range step.History {
			see(markerOf(c), c.At)
		}
		if step.Completion != nil {
			see(markerOf(*step.Completion), step.At)
		}
	}
	if view.Run.Ended != nil && view.Run.State == run.Cancelled && view.Run.Ended.Note != nil {
		see(*view.Run.Ended.Note, view.Run.Ended.At)
	}
	for _, c := range calls {
		n := found[c.RequestID]
		delete(found, c.RequestID)
		switch {
		case c.OK && leavesMark(c) && n != 1:
			v.problems.add("an acknowledged write is in the record of its run %d times: %v", n, c)
		case !c.OK && n > 0:
			v.problems.add("a refused write is in the record of its run: %v", c)
		case c.OK && c.Command != nil && c.Command.Event != nil && !consumed(c):
			delete(at, c.RequestID) // held; if it was taken later, that is not its own moment
		}
	}
	for marker := range found {
		v.problems.add("%s has in its record what nobody was told of: %s", id, marker)
	}
	v.problems.checked("runs whose record has each write once", 1)
	return at
}

func consumed(c *call) bool {
	var got struct{ ConsumedBy *string }
	return json.Unmarshal(c.Data, &got) == nil && got.ConsumedBy != nil
}

// leavesMark tells whether a write is in run data for good.
func leavesMark(c *call) bool {
	switch {
	case c.Command == nil:
		return false
	case c.Command.Submit != nil, c.Command.Cancel != nil:
		return true
	case c.Command.Decide != nil:
		return c.Command.Decide.Decision != run.ReturnedDecision
	case c.Command.Event != nil:
		return consumed(c)
	}
	return false
}

func markerOf(c run.Completion) string {
	var output struct{ Marker string }
	if len(c.Output) > 0 && json.Unmarshal(c.Output, &output) == nil && output.Marker != "" {
		return output.Marker
	}
	return c.Note
}
