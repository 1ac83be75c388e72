package conformance

import (
	"fmt"
	"slices"
	"time"
)

// viewProblem says how a run view contradicts itself, or "". It holds of every
// view of every run.
func viewProblem(v V) string {
	state := v.Str("run.state")
	over := state == "ended" || state == "cancelled"
	switch {
	case over == (v.At("run.ended").X == nil):
		return fmt.Sprintf("run.state is %s beside run.ended %s", state, v.At("run.ended"))
	case (state == "ended") == (v.At("run.outcome").X == nil):
		return fmt.Sprintf("run.state is %s beside run.outcome %s", state, v.At("run.outcome"))
	case over && len(v.List("workItems")) > 0:
		return "a run that is over has work items"
	}
	if p := stepsProblem(v, state, over); p != "" {
		return p
	}
	if p := itemsProblem(v); p != "" {
		return p
	}
	return timesProblem(v)
}

func stepsProblem(v V, state string, over bool) string {
	work, ids := false, map[string]string{}
	for _, s := range v.List("steps") {
		id, st := s.Str("id"), s.Str("state")
		if _, twice := ids[id]; twice {
			return "steps lists " + id + " twice"
		}
		ids[id] = st
		work = work || st == "ready" || st == "claimed"
		if over && slices.Contains([]string{"ready", "claimed", "waiting"}, st) {
			return fmt.Sprintf("step %s is %s in a run that is over", id, st)
		}
	}
	if !over && work != (state == "active") {
		return fmt.Sprintf("run.state is %s, and a step is ready or claimed: %t", state, work)
	}
	data, _ := v.At("data.steps").X.(map[string]any)
	for id := range data {
		if _, known := ids[id]; !known {
			return "data.steps has " + id + ", which is no step"
		}
	}
	return ""
}

func itemsProblem(v V) string {
	seen := map[string]bool{}
	for _, item := range v.List("workItems") {
		id := item.Str("id")
		switch {
		case seen[id]:
			return "workItems lists " + id + " twice"
		case item.Str("decide.arguments.workItemId") != id:
			return "the decide call of work item " + id + " names another item"
		case item.Str("decide.arguments.runId") != v.Str("run.id"):
			return "the decide call of work item " + id + " names another run"
		case item.Str("decide.arguments.snapshot") != item.Str("snapshot"):
			return "the decide call of work item " + id + " has another snapshot than the item"
		}
		seen[id] = true
		for _, s := range v.List("steps") {
			if s.Str("id") != item.Str("stepId") {
				continue
			}
			if s.Str("state") != "waiting" {
				return fmt.Sprintf("step %s has a work item and is %s", s.Str("id"), s.At("state"))
			}
			if s.Str("due") != item.Str("due") {
				return fmt.Sprintf("the work item of %s is due at %s and the step at %s", s.Str("id"), item.At("due"), s.At("due"))
			}
		}
	}
	return ""
}

// skew is how far times of one server may lie apart that belong together.
const skew = 5 * time.Second

func timesProblem(v V) string {
	started, ok := when(v.Str("run.startedAt"))
	updated, ok2 := when(v.Str("run.updatedAt"))
	if !ok || !ok2 || updated.Before(started) {
		return fmt.Sprintf("run.startedAt %s and run.updatedAt %s are no times in this order", v.At("run.startedAt"), v.At("run.updatedAt"))
	}
	if at := v.Str("run.ended.at"); at != "" {
		if end, ok := when(at); !ok || end.Before(started) || end.After(updated.Add(skew)) {
			return fmt.Sprintf("run.ended.at %s is no time between run.startedAt and run.updatedAt", at)
		}
	}
	data, _ := v.At("data.steps").X.(map[string]any)
	for _, id := range sortedKeys(data) {
		rec := V{data[id]}
		last := started
		for i, c := range append(rec.List("history"), rec) {
			if !c.Has("", "at") {
				continue
			}
			at, ok := when(c.Str("at"))
			if !ok || at.Before(last) || at.After(updated.Add(skew)) {
				return fmt.Sprintf("data.steps.%s: completion %d has at %s, out of order", id, i, c.At("at"))
			}
			last = at
		}
	}
	return ""
}

// when reads a time.
func when(s string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, s)
	return at, err == nil
}
