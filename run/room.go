package run

import (
	"fmt"

	"github.com/agentprocess-temporal/server/process"
)

// What a record takes is bounded by the cap on run data, by roomForNotes and by
// [Share], whatever callers do: who stores a record counts on it.

// roomForNotes is how far the notes of claims, escalations and decisions, and the
// issues of refused submissions, may take a run beyond the cap on run data, in
// bytes. So there is a word left when run data is full: to give it up, for one.
const roomForNotes = 64 << 10

// stepShare is the most that a step takes in a record besides its id, its check and
// what callers write, in bytes: an open one whom it is assigned to and until when, a
// done one when and by whom.
const stepShare = 500

// roleShare is the most that a role takes in a record besides its name, in bytes: the
// group that it is bound to.
const roleShare = 140

// Share is the most that the steps and roles of a process take in the record of a
// run, in bytes, besides what callers write.
func Share(p *process.Process) int {
	n := 0
	for _, role := range p.Roles() {
		n += len(mustMarshal(role)) + roleShare
	}
	for i := range p.Steps {
		step := &p.Steps[i]
		n += stepShare + 2*len(step.ID) // among the steps, and in run data
		if len(step.Check) > 0 {
			n += verdictRoom(step)
		}
	}
	return n
}

// weight is the size of run data and of all notes, in bytes.
func (r *Run) weight() int {
	n := r.Size()
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Claim != nil && s.Claim.Progress != "" {
			n += len(mustMarshal(s.Claim.Progress))
		}
		if e := s.escalation(); e != nil {
			n += len(mustMarshal(e.Note))
		}
	}
	return n
}

// checkNote refuses a note for which the run has no room.
func (r *Run) checkNote(code Code, what, note string) *Error {
	if note == "" {
		return nil
	}
	if size, limit := r.weight()+len(mustMarshal(note)), r.Limits.RunDataBytes+roomForNotes; size > limit {
		return Refuse(code, "the "+what+" does not fit into the run; shorten it, or leave it out where it is optional",
			fmt.Sprintf("%s: run data and notes would be %d bytes, the limit is %d", what, size, limit))
	}
	return nil
}

// kept shortens issues to what a handoff keeps of them.
func (r *Run) kept(issues []string) []string {
	issues = bounded(issues)
	if r.weight()+len(mustMarshal(issues)) > r.Limits.RunDataBytes+roomForNotes {
		return []string{fmt.Sprintf("%d issues, for which the run has no room", len(issues))}
	}
	return issues
}
