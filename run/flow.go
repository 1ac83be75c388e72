package run

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentprocess-temporal/server/process"
)

// enter makes a step the run's next: a fresh attempt, and whatever the server
// does by itself from there on (spec §3.2).
func (r *Run) enter(id string, at time.Time) {
	if r.Over() {
		return
	}
	step, s := r.processStep(id), r.state(id)
	fresh := Step{ID: id, Since: at}
	if c := r.Data.current(id); c != nil && c.Decision == Rejected {
		fresh.Order = s.Order // its own rejection stays current until it completes
	} else {
		r.retire(id) // current only where the run came here again without rewinding it
	}
	*s = fresh
	if !step.Due.IsZero() {
		due := storable(step.Due.After(at))
		s.Due = &due
	}
	switch step.Kind {
	case process.Agent:
		s.State = StepReady
	case process.Task, process.Approve:
		to, ok := r.assignee(step)
		if !ok {
			r.fail(s, Server, nobody(step.Person), at)
			return
		}
		r.ask(s, to, nil, at)
	case process.Wait:
		r.waitUntil(s, step.Wait.After(at), at)
	case process.WaitUntil:
		until, ok := r.datetime(*step.Until)
		if !ok {
			r.fail(s, Server, fmt.Sprintf("wait_until: %s holds no datetime", step.Until), at)
			return
		}
		r.waitUntil(s, until, at)
	case process.WaitFor:
		s.State = StepWaiting
		if e, ok := r.takeHeld(step.Event); ok {
			r.consume(s, e, at)
		} else if !step.Timeout.IsZero() {
			deadline := storable(step.Timeout.After(at))
			s.Deadline = &deadline
		}
	case process.Finish:
		*s = Step{ID: id, State: StepDone}
		r.end(Ended, step.Outcome, Server, nil, at)
	case process.Parallel:
		r.fork(step, s, at)
	}
}

// fork makes every branch entry ready in one write (parallel profile §3). The
// region starts afresh, also where a rejection led to a step before it that had
// not run yet and so rewound nothing.
func (r *Run) fork(step *process.Step, s *Step, at time.Time) {
	r.Completions++
	s.Order = r.Completions // what its branches complete comes after the fork
	for _, i := range r.layout().region[step.ID] {
		r.reset(&r.Steps[i])
	}
	for _, entry := range step.Branches {
		r.enter(entry, at)
	}
	if r.Over() {
		*s = Step{ID: s.ID, State: StepCancelled, Order: s.Order}
		return
	}
	s.State = StepWaiting // only now can a branch that is through already join
	r.join(step, at)
}

// join goes on behind a parallel step once every branch is through.
func (r *Run) join(step *process.Step, at time.Time) {
	s := r.state(step.ID)
	if s.State != StepWaiting {
		return
	}
	for _, i := range r.layout().region[step.ID] {
		if r.Steps[i].Open() {
			return
		}
	}
	*s = Step{ID: step.ID, State: StepDone, Order: s.Order}
	r.enter(step.Next, at)
}

// waitUntil waits for a moment, or goes on at once when it has passed.
func (r *Run) waitUntil(s *Step, moment, at time.Time) {
	moment = storable(moment)
	if moment.After(at) {
		s.State = StepWaiting
		s.Deadline = &moment
		return
	}
	r.pass(s, at)
}

// pass completes a wait by itself.
func (r *Run) pass(s *Step, at time.Time) {
	step := r.processStep(s.ID)
	next := step.Next
	if step.Kind == process.WaitFor && step.OnTimeout != "" {
		next = step.OnTimeout
	}
	r.finishStep(s, Completion{By: Server, At: at})
	r.follow(s.ID, next, at)
}

// ask opens a work item on a step and owes its assignee the news.
func (r *Run) ask(s *Step, to Assignment, why *Escalation, at time.Time) {
	r.Items++
	s.State = StepWaiting
	s.Item = &Item{ID: fmt.Sprintf("w_%d", r.Items), Since: at, AssignedTo: to, Escalation: why}
	kind := NotifyWork
	if why != nil {
		kind = NotifyEscalated
	}
	r.owe(kind, s, at)
}

// record and retire change run data, and with it the snapshot.
func (r *Run) record(id string, c Completion) {
	r.Data.record(id, c)
	r.Snapshot = ""
}

func (r *Run) retire(id string) {
	r.Data.retire(id)
	r.Snapshot = ""
}

// reset makes a step one that is not reached: what it recorded is history.
func (r *Run) reset(s *Step) {
	r.retire(s.ID)
	*s = Step{ID: s.ID}
}

// finishStep records a completion and closes the step.
func (r *Run) finishStep(s *Step, c Completion) {
	r.record(s.ID, c)
	r.Completions++
	*s = Step{ID: s.ID, State: StepDone, Order: r.Completions}
}

// follow goes on from a completed step: into the next one, or out of a branch.
func (r *Run) follow(from, next string, at time.Time) {
	// Where nothing forks, join is a step like any other.
	if fork := r.layout().fork[from]; fork != nil && next == process.Join {
		r.join(fork, at)
		return
	}
	r.enter(next, at)
}

// rewind takes the run back to a step that an approval was rejected into:
// whatever completed after it, the rejecting approval apart, becomes history
// (spec §3.1). Inside a branch it touches that branch only (parallel §3).
func (r *Run) rewind(rejecting *Step, target string) {
	from := r.state(target).Order
	if from == 0 {
		from = r.Completions // never completed: nothing completed after it
	}
	branch := r.layout().branch
	own := branch[rejecting.ID]
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.ID == rejecting.ID || (s.Order <= from && s.ID != target) {
			continue
		}
		if own != "" && branch[s.ID] != own {
			continue
		}
		r.reset(s)
	}
}

// fail fails a step and with it the run.
func (r *Run) fail(s *Step, by, note string, at time.Time) {
	c := Completion{Decision: FailedDecision, Note: note, By: by, At: at}
	if e := s.escalation(); e != nil {
		c.Check = e.Check
		r.decided(s.ID, e.Check, JudgedFailed, at)
	}
	r.finishStep(s, c)
	s.State = StepFailed
	r.end(Ended, string(FailedDecision), by, noted(note), at)
}

// end ends the run: unfinished steps are cancelled, work items and held events
// go, and with the claims every token stops working (spec §3.5).
func (r *Run) end(state State, outcome, by string, note *string, at time.Time) {
	r.State = state
	if state == Ended {
		r.Outcome = &outcome
	}
	r.Ended = &End{By: by, At: at, Note: note}
	r.Held = nil
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Open() {
			*s = Step{ID: s.ID, State: StepCancelled, Order: s.Order}
		}
	}
}

// assignee resolves who a person step is for; false where its path holds nobody.
func (r *Run) assignee(step *process.Step) (Assignment, bool) {
	switch p := step.Person; {
	case p.Initiator:
		return Assignment{Person: r.Initiator}, r.Initiator != ""
	case p.Path != nil:
		var person string
		if json.Unmarshal(r.Data.value(*p.Path), &person) != nil || person == "" {
			return Assignment{}, false
		}
		return Assignment{Person: person}, true
	default:
		group := r.Bindings[p.Role]
		return Assignment{Group: group}, group != ""
	}
}

// nobody says why a person step is for no one.
func nobody(p *process.Assignee) string {
	switch {
	case p.Initiator:
		return "person: an agent started this run, so it has no initiator"
	case p.Path != nil:
		return fmt.Sprintf("person: %s holds no person", p.Path)
	}
	return fmt.Sprintf("person: the role %s is bound to no group", p.Role)
}

// noted is the note of an end.
func noted(text string) *string { return &text }

func (r *Run) datetime(p process.Path) (time.Time, bool) {
	var text string
	if json.Unmarshal(r.Data.value(p), &text) != nil {
		return time.Time{}, false
	}
	return process.ParseDatetime(text)
}
