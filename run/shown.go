package run

import (
	"encoding/json"
	"slices"
	"time"
)

// shownData is run data as an evaluator sees it: within limit bytes, the steps
// that completed longest ago left out first, and the inputs last of all. It
// reports whether anything is missing (check profile §5).
func (r *Run) shownData(limit int) (json.RawMessage, bool) {
	whole := mustMarshal(r.Data)
	if len(whole) <= limit {
		return whole, false
	}
	type shownStep struct {
		id   string
		last time.Time
		size int
	}
	var steps []shownStep
	for _, id := range sortedKeys(r.Data.Steps) {
		d := r.Data.Steps[id]
		// With its key, a colon and a comma.
		steps = append(steps, shownStep{id, d.last(), len(mustMarshal(d)) + len(mustMarshal(id)) + 2})
	}
	slices.SortStableFunc(steps, func(a, b shownStep) int { return a.last.Compare(b.last) })
	shown := Data{Inputs: r.Data.Inputs, Steps: map[string]*StepData{}}
	size := len(mustMarshal(shown))
	if size > limit {
		shown.Inputs, size = json.RawMessage("{}"), emptyData+2
	}
	for _, s := range slices.Backward(steps) {
		if size += s.size; size > limit {
			break
		}
		shown.Steps[s.id] = r.Data.Steps[s.id]
	}
	return mustMarshal(shown), true
}

// last is when a step last completed; the zero time where it never did.
func (d *StepData) last() time.Time {
	if d.Completion != nil && !d.Completion.At.IsZero() {
		return d.Completion.At
	}
	if n := len(d.History); n > 0 {
		return d.History[n-1].At
	}
	return time.Time{}
}
