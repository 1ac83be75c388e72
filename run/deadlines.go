package run

import "time"

// NextDeadline is the earliest moment at which the run changes by itself, or
// the zero time.
func (r *Run) NextDeadline() time.Time {
	_, at, _ := r.nextDeadline()
	return at
}

type deadline int

const (
	noDeadline deadline = iota
	leaseEnds
	waitEnds
	dueEnds
)

// nextDeadline finds the earliest deadline. At the same moment a lease ends
// before a wait goes on, and that before work is called overdue.
func (r *Run) nextDeadline() (*Step, time.Time, deadline) {
	var step *Step
	var at time.Time
	kind := noDeadline
	consider := func(s *Step, t time.Time, k deadline) {
		if step == nil || t.Before(at) || (t.Equal(at) && k < kind) {
			step, at, kind = s, t, k
		}
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Claim != nil && s.Claim.Checking.IsZero() {
			consider(s, s.Claim.ExpiresAt, leaseEnds)
		}
		if s.Deadline != nil {
			consider(s, *s.Deadline, waitEnds)
		}
		if s.Due != nil && !s.Overdue && s.Open() {
			consider(s, *s.Due, dueEnds)
		}
	}
	return step, at, kind
}

// Advance applies every deadline that has passed, in order, each as of its own
// moment: the result does not depend on who notices first. It reports whether
// anything changed.
func (r *Run) Advance(now time.Time) bool {
	now = cut(now)
	seq := r.Seq
	for {
		s, at, kind := r.nextDeadline()
		if kind == noDeadline || at.After(now) {
			r.seal()
			return r.Seq > seq
		}
		switch kind {
		case leaseEnds:
			r.loseLease(s, at)
			r.LeasesLost++
		case waitEnds:
			r.pass(s, at)
		case dueEnds:
			s.Overdue = true
			r.Overdues++
			r.owe(NotifyOverdue, s, at)
		}
		r.settle(at)
	}
}

// at is the run as of now: itself when no deadline has passed, else an advanced
// copy, so that looking changes nothing.
func (r *Run) at(now time.Time) *Run {
	if next := r.NextDeadline(); next.IsZero() || next.After(cut(now)) {
		return r
	}
	c := r.Clone()
	c.Advance(now)
	return c
}

// DeadlineSummary says in a few words what the next deadline is about.
func (r *Run) DeadlineSummary() string {
	s, _, kind := r.nextDeadline()
	switch kind {
	case leaseEnds:
		return "lease of " + s.ID + " ends"
	case waitEnds:
		return s.ID + " waits"
	case dueEnds:
		return s.ID + " is due"
	}
	return "look again"
}
