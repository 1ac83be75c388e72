package run

import (
	"time"

	"github.com/agentprocess-temporal/server/process"
)

// checkCancel holds the refusals of cancel (spec §3.5).
func (r *Run) checkCancel(by Actor) *Error {
	if !by.Person || !by.Operator {
		return Refuse(Forbidden, "only an operator cancels a run")
	}
	return nil
}

// checkEvent holds the refusals of send_event (spec §3.6). The cap bounds
// what is held, and what a wait takes at once.
func (r *Run) checkEvent(by Actor, c *SendEvent) *Error {
	if by.Person && !by.Operator {
		return Refuse(Forbidden, "events come from agents and operators")
	}
	if issues := objectIssues("data", c.Data); len(issues) > 0 {
		return Refuse(Invalid, "the event's data is not sound", issues...)
	}
	e := Event{Name: c.Name, Data: c.Data, By: by.ID}
	if size := r.Size() + e.size(); size > r.Limits.RunDataBytes {
		return Refuse(Invalid, "the event does not fit into the run", TooLarge(size, r.Limits))
	}
	return nil
}

// receive delivers an event to the first open wait for it, in the order of the
// process, or holds it.
func (r *Run) receive(by Actor, c *SendEvent, now time.Time) Outcome {
	e := Event{Name: c.Name, Data: c.Data, By: by.ID, At: now}
	for i := range r.Process.Steps {
		step := &r.Process.Steps[i]
		if s := &r.Steps[i]; step.Kind == process.WaitFor && step.Event == c.Name && s.State == StepWaiting {
			r.consume(s, e, now)
			return Outcome{ConsumedBy: step.ID}
		}
	}
	r.Held = append(r.Held, e)
	return Outcome{}
}

// consume completes a wait with an event.
func (r *Run) consume(s *Step, e Event, at time.Time) {
	r.finishStep(s, Completion{Output: e.Data, By: e.By, At: at})
	r.follow(s.ID, r.processStep(s.ID).Next, at)
}

// size is what an event counts for, held as well as consumed.
func (e *Event) size() int { return len(e.Data) + len(e.Name) + len(e.By) + stepOverhead }

// takeHeld removes and returns the oldest held event of a name.
func (r *Run) takeHeld(name string) (Event, bool) {
	for i, e := range r.Held {
		if e.Name == name {
			r.Held = append(r.Held[:i:i], r.Held[i+1:]...)
			return e, true
		}
	}
	return Event{}, false
}

// CancelByServer cancels the run because whoever operates the server ended it
// outside the protocol. A run that is over is left as it is.
func (r *Run) CancelByServer(now time.Time, note string) {
	now = cut(now)
	r.Advance(now)
	if r.Over() {
		return
	}
	r.end(Cancelled, "", Server, noted(note), now)
	r.settle(now)
	r.seal()
}
