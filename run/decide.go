package run

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentprocess-temporal/server/process"
)

// checkDecide holds the refusals of decide, in the order of its contract
// (tools decide). An agent goes through the same order as a person.
func (r *Run) checkDecide(by Actor, c *DecideItem) *Error {
	s := r.item(c.ItemID)
	switch {
	case s == nil && r.wasItem(c.ItemID):
		return Refuse(Conflict, "the work item was decided already", "already_decided")
	case s == nil:
		return Refuse(NotFound, "no such work item in this run")
	case c.Snapshot != r.Snapshot:
		return Refuse(Stale, "run data changed since the snapshot was read; read the run again")
	case !s.Item.AssignedTo.includes(by):
		return Refuse(Forbidden, "the work item is not assigned to you")
	}
	if allowed := r.decisions(s); !slices.Contains(allowed, c.Decision) {
		return Refuse(Invalid, "this work item does not take that decision", "decision: must be one of "+joined(allowed))
	}
	if err := r.checkRejection(s, c); err != nil {
		return err
	}
	if c.Decision == Approved || c.Decision == ReturnedDecision {
		return r.checkNote(NotAccepted, "note", c.Note)
	}
	return nil
}

// checkRejection bounds the one decision that can be made again and again: each
// rejection into another attempt leaves its note in run data. The approver can
// still approve or fail the step, and an operator cancel the run.
func (r *Run) checkRejection(s *Step, c *DecideItem) *Error {
	if c.Decision != Rejected || r.processStep(s.ID).OnReject == "" {
		return nil
	}
	if size := r.Size() + len(c.Note) + stepOverhead; size > r.Limits.RunDataBytes {
		return Refuse(NotAccepted, "the rejection does not fit into the run", TooLarge(size, r.Limits))
	}
	return nil
}

// wasItem reports whether a work item of this id existed. Ids are counted, and
// an item goes only by being decided or with the run.
func (r *Run) wasItem(id string) bool {
	digits, ok := strings.CutPrefix(id, "w_")
	if !ok {
		return false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return err == nil && n >= 1 && n <= r.Items && strconv.FormatInt(n, 10) == digits
}

func (a Assignment) includes(by Actor) bool {
	if !by.Person {
		return false
	}
	if a.Person != "" {
		return strings.EqualFold(a.Person, by.ID)
	}
	if a.Group == OperatorGroup {
		return by.Operator
	}
	return slices.Contains(by.Groups, a.Group)
}

// decisions lists what the open item of a step accepts (tools, work item).
func (r *Run) decisions(s *Step) []Decision {
	switch {
	case s.Item.Escalation != nil:
		return []Decision{ReturnedDecision, Completed, FailedDecision}
	case r.processStep(s.ID).Kind == process.Approve:
		return []Decision{Approved, Rejected, FailedDecision}
	default:
		return []Decision{Completed, FailedDecision}
	}
}

func (r *Run) decide(by Actor, c *DecideItem, a *Answers, now time.Time) Outcome {
	s := r.item(c.ItemID)
	step := r.processStep(s.ID)
	switch c.Decision {
	case Completed:
		return r.complete(s, by, c.Submission, a, now)
	case ReturnedDecision:
		r.giveBack(s, by, c.Note, now)
	case FailedDecision:
		r.fail(s, by.ID, c.Note, now)
	case Approved:
		r.approved(s.ID, now)
		r.finishStep(s, Completion{Decision: Approved, Note: c.Note, By: by.ID, At: now})
		r.follow(s.ID, step.Next, now)
	case Rejected:
		judged := r.undecided(s.ID)
		r.finishStep(s, Completion{Decision: Rejected, Note: c.Note, By: by.ID, At: now})
		if step.OnReject == "" {
			r.end(Ended, string(Rejected), by.ID, noted(c.Note), now)
			r.rejected(judged, now)
			break
		}
		s.State = StepNone
		r.rewind(s, step.OnReject)
		r.rejected(judged, now)
		r.enter(step.OnReject, now)
	}
	return Outcome{}
}

// giveBack returns an escalated step: to the agents, or to a task's assignee.
// It is the same attempt, so the due clock and the handoff go on.
func (r *Run) giveBack(s *Step, by Actor, note string, now time.Time) {
	step := r.processStep(s.ID)
	if v := s.Item.Escalation.Check; v != nil {
		r.bounce(s, v)
		r.decided(s.ID, v, JudgedReturned, now)
		r.retire(s.ID) // the verdict waits no longer
	}
	s.Item = nil
	s.handoff().Returned = &Returned{Note: note, By: by.ID, At: now}
	s.Since = now
	if step.Kind == process.Agent {
		s.State = StepReady
		return
	}
	to, _ := r.assignee(step)
	r.ask(s, to, nil, now)
}

func joined(ds []Decision) string {
	out := make([]string, len(ds))
	for i, d := range ds {
		out[i] = string(d)
	}
	return strings.Join(out, ", ")
}
