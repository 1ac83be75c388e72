package run

import (
	"strings"
	"time"

	"github.com/agentprocess-temporal/server/process"
)

// checkClaim holds the refusals of claim (tools claim).
func (r *Run) checkClaim(by Actor, c *ClaimStep) *Error {
	step := r.processStep(c.StepID)
	switch {
	case step == nil:
		return Refuse(NotFound, "no such step in this run")
	case by.Person:
		return Refuse(Forbidden, "only an agent claims a step")
	case step.Kind != process.Agent:
		return Refuse(Forbidden, "only agent steps are claimed")
	}
	s := r.state(c.StepID)
	switch {
	case s.State == StepClaimed && s.Claim.By == by.ID:
		return Refuse(Conflict, "you hold this step already", "claimed_by_you")
	case s.State == StepClaimed:
		return Refuse(Conflict, "another agent holds this step", "claimed_by_other")
	case s.State != StepReady:
		return Refuse(Conflict, "the step is not ready", "not_ready")
	}
	return nil
}

func (r *Run) claim(by Actor, c *ClaimStep, now time.Time) Outcome {
	s := r.state(c.StepID)
	s.State = StepClaimed
	s.Claim = &Claim{By: by.ID, At: now}
	return r.grant(s, c.Lease, c.Key, now)
}

// maxLease keeps a lease within what a duration holds, in seconds.
const maxLease = 366 * 24 * 60 * 60

// grant numbers the claim on s anew, so that older tokens stop working, and
// sets its lease.
func (r *Run) grant(s *Step, lease int64, key string, now time.Time) Outcome {
	r.Claims++
	s.Claim.Number = r.Claims
	s.Claim.ExpiresAt = storable(now.Add(time.Duration(min(max(lease, 0), maxLease)) * time.Second))
	return Outcome{Claim: &Granted{
		Holder:    Holder{StepID: s.ID, Number: s.Claim.Number},
		ExpiresAt: s.Claim.ExpiresAt,
		Key:       key,
	}}
}

// checkHolder holds the refusals of every call that carries a token: the claim
// it names must be the current one, and the caller must be who holds it.
func (r *Run) checkHolder(by Actor, h Holder) *Error {
	if r.processStep(h.StepID) == nil {
		return Refuse(NotFound, "no such step in this run")
	}
	s := r.state(h.StepID)
	if s.State != StepClaimed || s.Claim.Number != h.Number {
		return Refuse(Stale, "the claim has ended or was replaced")
	}
	if by.Person || s.Claim.By != by.ID {
		return Refuse(Forbidden, "the token belongs to another agent")
	}
	if !s.Claim.Checking.IsZero() {
		return Refuse(Retry, "a submission of this claim is being checked; the claim is held until that is done")
	}
	return nil
}

func (r *Run) checkRenew(by Actor, c *RenewClaim) *Error {
	if err := r.checkHolder(by, c.Holder); err != nil {
		return err
	}
	return r.checkNote(Invalid, "progress", strings.TrimSpace(c.Progress))
}

func (r *Run) checkEscalate(by Actor, c *EscalateStep) *Error {
	if err := r.checkHolder(by, c.Holder); err != nil {
		return err
	}
	return r.checkNote(Invalid, "note", c.Note)
}

func (r *Run) renew(c *RenewClaim, now time.Time) Outcome {
	s := r.state(c.StepID)
	if strings.TrimSpace(c.Progress) != "" {
		s.Claim.Progress = c.Progress
	}
	return r.grant(s, c.Lease, c.Key, now)
}

func (r *Run) escalate(by Actor, c *EscalateStep, now time.Time) Outcome {
	s := r.state(c.StepID)
	s.Claim = nil
	s.State = StepWaiting
	r.ask(s, Assignment{Group: OperatorGroup}, &Escalation{Note: c.Note, By: by.ID, At: now}, now)
	return Outcome{}
}

// loseLease ends a claim whose lease has passed: the step is claimable at
// once, and the next claimant learns how far the last one got.
func (r *Run) loseLease(s *Step, at time.Time) {
	if s.Claim.Progress != "" {
		s.handoff().Progress = s.Claim.Progress
	}
	s.Claim = nil
	s.State = StepReady
	s.Since = at
}
