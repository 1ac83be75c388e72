package run

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/agentprocess-temporal/server/internal/canonical"
	"github.com/agentprocess-temporal/server/process"
)

// CheckLimits are the defaults of questions, and the bound of what an evaluator
// is shown (check profile §5).
type CheckLimits struct {
	Pass       float64  `json:"pass"`
	Fail       *float64 `json:"fail,omitempty"`
	Confidence float64  `json:"confidence"`
	StateBytes int      `json:"stateBytes"`
}

// DefaultCheckLimits are the profile's own.
func DefaultCheckLimits() CheckLimits {
	return CheckLimits{Pass: 0.9, Confidence: 0.8, StateBytes: 64 << 10}
}

func (l Limits) checks() CheckLimits {
	if l.Check.StateBytes == 0 {
		return DefaultCheckLimits()
	}
	return l.Check
}

// CheckRequest is what an evaluator is asked about: a submission, in its place.
// What does not change with the run it reads in the process.
type CheckRequest struct {
	Org     string `json:"org"`
	RunID   string `json:"runId"`
	Process string `json:"process"`
	Version int    `json:"version"`
	StepID  string `json:"stepId"`
	// Data is run data; Truncated says that it is not all of it.
	Data      json.RawMessage `json:"data"`
	Truncated bool            `json:"truncated,omitempty"`
	Output    json.RawMessage `json:"output"`
	Summary   string          `json:"summary,omitempty"`
	Evidence  []Evidence      `json:"evidence,omitempty"`
	// LeaseEnds is when the lease would end that is held meanwhile; zero for a
	// person's task.
	LeaseEnds time.Time `json:"-"`
}

// NeedsCheck reports whether a write has to pass a check before it completes its
// step: one that is not refused, keeps the objective rules, and was not carried
// out before.
func (r *Run) NeedsCheck(c Command, now time.Time) bool {
	now = cut(now)
	if known, err := r.known(c, now); err != nil || known != nil {
		return false
	}
	return r.at(now).checked(c) != nil
}

// BeginCheck says what to ask about a write before [Run.ExecuteChecked] carries
// it out; nil where [Run.Execute] may do so at once. From here on a claim is
// held: its lease does not end, and only this write can use it.
func (r *Run) BeginCheck(c Command, now time.Time) *CheckRequest {
	now = cut(now)
	r.Advance(now)
	if known, err := r.known(c, now); err != nil || known != nil {
		return nil
	}
	s := r.checked(c)
	if s == nil {
		return nil
	}
	_, sub := r.completing(c)
	q := &CheckRequest{
		Org: r.Org, RunID: r.ID, Process: r.Record.Process, Version: r.Version, StepID: s.ID,
		Output: object(sub.Output), Summary: sub.Summary, Evidence: sub.verified(),
	}
	q.Data, q.Truncated = r.shownData(r.Limits.checks().StateBytes)
	if s.Claim != nil {
		q.LeaseEnds = s.Claim.ExpiresAt
		s.Claim.Checking = now
		r.touch()
	}
	return q
}

// ExecuteChecked carries out a write that BeginCheck asked about, on the state of
// now: it may have become one that is refused. No answers mean that the evaluator
// did not answer. That it was begun in time is enough.
func (r *Run) ExecuteChecked(c Command, a Answers, now time.Time) (Outcome, *Error) {
	now = cut(now)
	r.Advance(now)
	r.letGo(c, now)
	c.NotAfter = now
	return r.carryOut(c, &a, now)
}

// letGo ends the hold on the claim of a submission. The lease stood still
// meanwhile: what was left of it is left now.
func (r *Run) letGo(c Command, now time.Time) {
	if c.Submit == nil || r.processStep(c.Submit.StepID) == nil {
		return
	}
	claim := r.state(c.Submit.StepID).Claim
	if claim == nil || claim.Number != c.Submit.Number || claim.Checking.IsZero() {
		return
	}
	claim.ExpiresAt = storable(claim.ExpiresAt.Add(now.Sub(claim.Checking)))
	claim.Checking = time.Time{}
	r.touch()
}

// touch makes a new record of a change that is not one of the run as callers see it.
func (r *Run) touch() { r.Seq++ }

// completing is the step that a write is to complete, and with what.
func (r *Run) completing(c Command) (*Step, Submission) {
	switch {
	case c.Submit != nil:
		return r.state(c.Submit.StepID), c.Submit.Submission
	case c.Decide != nil && c.Decide.Decision == Completed:
		return r.item(c.Decide.ItemID), c.Decide.Submission
	}
	return nil, Submission{}
}

// checked is the step whose check a write has to pass, or nil.
func (r *Run) checked(c Command) *Step {
	if r.check(c) != nil {
		return nil
	}
	s, sub := r.completing(c)
	if s == nil || !r.hasCheck(s) || len(r.acceptance(r.processStep(s.ID), c.By, sub)) > 0 {
		return nil
	}
	return s
}

// hasCheck reports whether what completes a step is checked: a person who
// completes an escalated one has judged it already (check profile §3).
func (r *Run) hasCheck(s *Step) bool {
	return len(r.processStep(s.ID).Check) > 0 && s.escalation() == nil
}

// unanswered is the answer to a write whose check came to nothing.
func unanswered() *Error {
	return Refuse(Retry, "the check of this submission was not answered; nothing was recorded, so send it again with the same requestId")
}

// unsureNote is what an escalation by a check says.
const unsureNote = "The check could not decide about this submission: its questions and answers are in check, the submission is in candidate."

// hold keeps a submission that a check was unsure of for a person to decide.
func (r *Run) hold(s *Step, c Completion, v *Verdict, now time.Time) {
	s.Claim = nil
	s.State = StepWaiting
	r.Data.await(s.ID, v)
	r.Snapshot = ""
	r.ask(s, Assignment{Group: OperatorGroup}, &Escalation{Note: unsureNote, By: Server, At: now, Check: v, Candidate: &c}, now)
}

// bounce keeps what a check did not accept for the next attempt.
func (r *Run) bounce(s *Step, v *Verdict) []string {
	issues := v.lines(r.processStep(s.ID), r.Limits.checks())
	s.handoff().Issues = r.kept(issues)
	s.handoff().Check = v
	return issues
}

// WithCandidate is what a person completes an item with. Without an output that
// is the submission held for it, if one is, and of the rest what they gave
// (tools, workItems[].escalation).
func (r *Run) WithCandidate(itemID string, sub Submission) Submission {
	s := r.item(itemID)
	if s == nil || s.Item.Escalation == nil || s.Item.Escalation.Candidate == nil || sub.Output != nil || sub.Refused != nil {
		return sub
	}
	c := s.Item.Escalation.Candidate
	sub.Output, sub.UnknownPersons = c.Output, nil
	if sub.Evidence == nil {
		sub.Evidence, sub.Files = slices.Clone(c.Evidence), map[string]File{}
		for _, e := range c.Evidence {
			if e.Kind == process.File {
				sub.Files[e.Ref] = File{SHA256: e.SHA256, Intact: true}
			}
		}
	}
	if strings.TrimSpace(sub.Summary) == "" {
		sub.Summary = c.Summary
	}
	if sub.Next == nil && sub.Reason == nil && c.Next != "" {
		sub.Next, sub.Reason = &c.Next, &c.Reason
	}
	return sub
}

// accepts reports whether an output is the candidate's.
func (e *Escalation) accepts(output json.RawMessage) bool {
	a, errA := canonical.JSON(object(e.Candidate.Output))
	b, errB := canonical.JSON(object(output))
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// size is what a held submission and its verdict count for.
func (e *Escalation) size() int {
	n := 0
	if e.Candidate != nil {
		n += len(mustMarshal(e.Candidate))
	}
	if e.Check != nil {
		n += len(mustMarshal(e.Check))
	}
	return n
}

// held is what a step keeps beside run data that counts towards the cap.
func (s *Step) held() int {
	n := 0
	if s.Handoff != nil {
		n += len(mustMarshal(s.Handoff))
	}
	if e := s.escalation(); e != nil {
		n += e.size()
	}
	return n
}
