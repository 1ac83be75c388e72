package run

import (
	"encoding/json"
	"time"
)

// Command is one write to a run. Exactly one of the pointers is set.
type Command struct {
	// RequestID is the caller's; Digest covers caller, tool and arguments.
	RequestID string `json:"requestId"`
	Digest    string `json:"digest"`
	// Attempt is this try's id. NotAfter is when it must no longer be carried out.
	Attempt  string    `json:"attempt"`
	NotAfter time.Time `json:"notAfter"`
	By       Actor     `json:"by"`
	// CheckSeconds is how long one try of an evaluator may take, should the write
	// need one.
	CheckSeconds int64 `json:"checkSeconds,omitempty"`

	Claim    *ClaimStep    `json:"claim,omitempty"`
	Renew    *RenewClaim   `json:"renew,omitempty"`
	Submit   *SubmitStep   `json:"submit,omitempty"`
	Escalate *EscalateStep `json:"escalate,omitempty"`
	Decide   *DecideItem   `json:"decide,omitempty"`
	Cancel   *CancelRun    `json:"cancel,omitempty"`
	Event    *SendEvent    `json:"event,omitempty"`
}

// Holder names a claim, as a verified token does.
type Holder struct {
	StepID string `json:"stepId"`
	Number int64  `json:"number"`
}

// ClaimStep claims an agent step for Lease seconds, at most a year. Key names the key that
// will sign the token, so that a replay can sign the same one.
type ClaimStep struct {
	StepID string `json:"stepId"`
	Lease  int64  `json:"lease"`
	Key    string `json:"key,omitempty"`
}

// RenewClaim extends a claim; a non-blank Progress replaces the note on it.
type RenewClaim struct {
	Holder
	Progress string `json:"progress,omitempty"`
	Lease    int64  `json:"lease"`
	Key      string `json:"key,omitempty"`
}

// SubmitStep submits an agent step.
type SubmitStep struct {
	Holder
	Submission Submission `json:"submission"`
}

// Submission is what a step is completed with, and what was found out about it
// outside the run.
type Submission struct {
	Output   json.RawMessage `json:"output,omitempty"`
	Evidence []Evidence      `json:"evidence,omitempty"`
	Summary  string          `json:"summary,omitempty"`
	Next     *string         `json:"next,omitempty"`
	Reason   *string         `json:"reason,omitempty"`
	// Files says of each cited upload whether it exists and is intact.
	Files map[string]File `json:"files,omitempty"`
	// UnknownPersons are the person values that the directory does not know.
	UnknownPersons []string `json:"unknownPersons,omitempty"`
	// Refused is set where the submission was too large to travel: the issues
	// it has, found before, in place of its content.
	Refused []string `json:"refused,omitempty"`
}

// File is what was found of an upload.
type File struct {
	SHA256 string `json:"sha256"`
	Intact bool   `json:"intact"`
}

// EscalateStep hands a claimed step to a person.
type EscalateStep struct {
	Holder
	Note string `json:"note"`
}

// Decision is what a person decides (spec §3.4).
type Decision string

// The decisions.
const (
	Completed        Decision = "completed"
	Approved         Decision = "approved"
	Rejected         Decision = "rejected"
	ReturnedDecision Decision = "returned"
	FailedDecision   Decision = "failed"
)

// DecideItem decides an open work item.
type DecideItem struct {
	ItemID     string     `json:"itemId"`
	Snapshot   string     `json:"snapshot"`
	Decision   Decision   `json:"decision"`
	Note       string     `json:"note,omitempty"`
	Submission Submission `json:"submission,omitzero"`
}

// CancelRun cancels the run.
type CancelRun struct {
	Reason string `json:"reason"`
}

// SendEvent delivers an event to the run.
type SendEvent struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Outcome is what a write did, beside the record it left.
type Outcome struct {
	// Refusal is set when a submission was not accepted: the write changed the
	// step's handoff and nothing else. It is also set, to retry, when a check was
	// not answered: the write changed nothing.
	Refusal *Error `json:"refusal,omitempty"`
	// Claim is set by a claim and by a renewal.
	Claim *Granted `json:"claim,omitempty"`
	// ConsumedBy is the wait that consumed an event; empty when it is held.
	ConsumedBy string `json:"consumedBy,omitempty"`
}

// Granted is a claim that was granted or renewed. Its token is signed from it.
type Granted struct {
	Holder
	ExpiresAt time.Time `json:"expiresAt"`
	Key       string    `json:"key,omitempty"`
}

// Check says why a write would be refused, or nil. A submission that would not
// be accepted is not refused here: that changes the handoff. Deadlines that
// have passed count as passed. The run is left as it was.
func (r *Run) Check(c Command, now time.Time) *Error {
	now = cut(now)
	if known, err := r.known(c, now); err != nil || known != nil {
		return err
	}
	return r.at(now).check(c)
}

// Execute applies the deadlines that passed, then carries a write out with every
// automatic transition it triggers. A refusal changes nothing more. A request
// that was executed before has its outcome again. A write for which
// [Run.BeginCheck] has questions goes through [Run.ExecuteChecked]; here it counts
// as one whose check was not answered.
func (r *Run) Execute(c Command, now time.Time) (Outcome, *Error) {
	now = cut(now)
	r.Advance(now)
	return r.carryOut(c, nil, now)
}

// carryOut is Execute once the deadlines are applied; a are the answers to a
// check, nil where none was asked for.
func (r *Run) carryOut(c Command, a *Answers, now time.Time) (Outcome, *Error) {
	known, err := r.known(c, now)
	if err != nil {
		return Outcome{}, err
	}
	if known != nil {
		return known.Outcome, nil
	}
	if err := r.check(c); err != nil {
		return Outcome{}, err
	}
	updated := r.UpdatedAt
	o := r.apply(c, a, now)
	r.settle(now)
	r.seal()
	if o.Refusal != nil {
		r.UpdatedAt = updated // run data is as it was
		return o, nil
	}
	r.remember(Request{ID: c.RequestID, Digest: c.Digest, Attempt: c.Attempt, Tool: c.Tool(), At: now, By: c.By.caller()}, o)
	return o, nil
}

// Tool is the name of the tool that a command comes from.
func (c *Command) Tool() string {
	switch {
	case c.Claim != nil:
		return "claim"
	case c.Renew != nil:
		return "renew"
	case c.Submit != nil:
		return "submit"
	case c.Escalate != nil:
		return "escalate"
	case c.Decide != nil:
		return "decide"
	case c.Cancel != nil:
		return "cancel"
	case c.Event != nil:
		return "send_event"
	}
	return ""
}

// check holds the rules that refuse a write, each tool's in the order that its
// contract gives. An ended run refuses everything first (spec §3.5).
func (r *Run) check(c Command) *Error {
	if r.Over() {
		return Refuse(Conflict, "the run has ended", "run_ended")
	}
	switch {
	case c.Claim != nil:
		return r.checkClaim(c.By, c.Claim)
	case c.Renew != nil:
		return r.checkRenew(c.By, c.Renew)
	case c.Submit != nil:
		return r.checkHolder(c.By, c.Submit.Holder)
	case c.Escalate != nil:
		return r.checkEscalate(c.By, c.Escalate)
	case c.Decide != nil:
		return r.checkDecide(c.By, c.Decide)
	case c.Cancel != nil:
		return r.checkCancel(c.By)
	case c.Event != nil:
		return r.checkEvent(c.By, c.Event)
	}
	return Refuse(Invalid, "an empty command")
}

func (r *Run) apply(c Command, a *Answers, now time.Time) Outcome {
	switch {
	case c.Claim != nil:
		return r.claim(c.By, c.Claim, now)
	case c.Renew != nil:
		return r.renew(c.Renew, now)
	case c.Submit != nil:
		return r.complete(r.state(c.Submit.StepID), c.By, c.Submit.Submission, a, now)
	case c.Escalate != nil:
		return r.escalate(c.By, c.Escalate, now)
	case c.Decide != nil:
		return r.decide(c.By, c.Decide, a, now)
	case c.Cancel != nil:
		r.end(Cancelled, "", c.By.ID, noted(c.Cancel.Reason), now)
		return Outcome{}
	default:
		return r.receive(c.By, c.Event, now)
	}
}
