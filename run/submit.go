package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentprocess-temporal/server/process"
)

// complete completes an agent or task step with a submission, or refuses it
// with every issue (spec §6 rule 3), or does what its check says of it (check
// profile §3).
func (r *Run) complete(s *Step, by Actor, sub Submission, a *Answers, now time.Time) Outcome {
	step := r.processStep(s.ID)
	if s.Item != nil {
		sub = r.WithCandidate(s.Item.ID, sub)
	}
	if issues := r.acceptance(step, by, sub); len(issues) > 0 {
		s.handoff().Issues = r.kept(issues)
		return Outcome{Refusal: Refuse(NotAccepted, "the submission was not accepted", issues...)}
	}
	c := Completion{Output: object(sub.Output), Evidence: sub.verified(), By: by.ID, At: now}
	if strings.TrimSpace(sub.Summary) != "" {
		c.Summary = sub.Summary
	}
	next := step.Next
	if step.Routes != nil {
		next = *sub.Next
		c.Next, c.Reason = next, *sub.Reason
	}
	if r.hasCheck(s) {
		v := judge(step, r.Limits, *cmp.Or(a, &Answers{}), now)
		if v.Verdict == NotAnswered && !v.Advisory {
			return Outcome{Refusal: unanswered()}
		}
		r.judged(s.ID, v)
		switch {
		case v.Advisory, v.Verdict == Passes:
			c.Check = v
		case v.Verdict == Fails:
			return Outcome{Refusal: Refuse(NotAccepted, "the check did not accept the submission", r.bounce(s, v)...)}
		default:
			r.hold(s, c, v, now)
			return Outcome{}
		}
	} else if e := s.escalation(); e != nil && e.Check != nil {
		c.Check = e.Check
		verdict := JudgedReplaced
		if e.accepts(sub.Output) {
			verdict = JudgedCompleted
		}
		r.decided(s.ID, e.Check, verdict, now)
	}
	r.finishStep(s, c)
	r.follow(s.ID, next, now)
	return Outcome{}
}

// Acceptance lists what is wrong with a submission for a step as far as it can
// be said without the run: everything but the run data cap.
func Acceptance(step *process.Step, by Actor, sub Submission) []string {
	var issues []string
	if !by.Person && strings.TrimSpace(sub.Summary) == "" {
		issues = append(issues, "summary: missing")
	}
	issues = append(issues, fieldIssues(step.Output, "output", sub.Output, sub.UnknownPersons)...)
	issues = append(issues, evidenceIssues(step, sub)...)
	return append(issues, routeIssues(step, sub)...)
}

func (r *Run) acceptance(step *process.Step, by Actor, sub Submission) []string {
	if len(sub.Refused) > 0 {
		return sub.Refused
	}
	issues := Acceptance(step, by, sub)
	// What the step keeps for itself goes when it completes; its id, who and when
	// come in, and a verdict.
	s := r.state(step.ID)
	size := r.Size() - s.held() + sub.Size() + len(step.ID) + len(by.ID) + stepOverhead
	if r.hasCheck(s) {
		size += verdictRoom(step)
	}
	if size > r.Limits.RunDataBytes {
		issues = append(issues, TooLarge(size, r.Limits))
	}
	return issues
}

// Size is what a submission adds to run data, in bytes, who and when apart.
func (s Submission) Size() int {
	c := Completion{Evidence: s.verified(), Summary: s.Summary}
	if s.Next != nil && s.Reason != nil {
		c.Next, c.Reason = *s.Next, *s.Reason
	}
	return len(s.Output) + len(mustMarshal(c))
}

// stepOverhead is what a completion adds to run data beside its own fields.
const stepOverhead = 64

func evidenceIssues(step *process.Step, sub Submission) []string {
	var issues []string
	for _, kind := range step.Evidence {
		if !slices.ContainsFunc(sub.Evidence, func(e Evidence) bool { return e.Kind == kind }) {
			issues = append(issues, fmt.Sprintf("evidence: %s required", kind))
		}
	}
	seen := map[string]bool{}
	for _, e := range sub.Evidence {
		if e.Kind != process.File || seen[e.Ref] {
			continue
		}
		seen[e.Ref] = true
		switch file, found := sub.Files[e.Ref]; {
		case !found:
			issues = append(issues, fmt.Sprintf("evidence %s: not found", e.Ref))
		case !file.Intact:
			issues = append(issues, fmt.Sprintf("evidence %s: the stored bytes no longer match the hash recorded at upload", e.Ref))
		}
	}
	return issues
}

func routeIssues(step *process.Step, sub Submission) []string {
	var issues []string
	if step.Routes == nil {
		if sub.Next != nil {
			issues = append(issues, "next: not allowed, this step has no routes to choose from")
		}
		if sub.Reason != nil {
			issues = append(issues, "reason: not allowed, this step has no routes to choose from")
		}
		return issues
	}
	var names []string
	for _, route := range step.Routes {
		names = append(names, route.To)
	}
	switch {
	case sub.Next == nil:
		issues = append(issues, "next: required, one of "+strings.Join(names, ", "))
	case !slices.Contains(names, *sub.Next):
		issues = append(issues, "next: expected one of "+strings.Join(names, ", "))
	}
	if sub.Reason == nil || strings.TrimSpace(*sub.Reason) == "" {
		issues = append(issues, "reason: required")
	}
	return issues
}

// verified is the evidence as it is recorded: files with their hash.
func (s Submission) verified() []Evidence {
	out := make([]Evidence, len(s.Evidence))
	for i, e := range s.Evidence {
		out[i] = Evidence{Kind: e.Kind, Ref: e.Ref}
		if e.Kind == process.File {
			out[i].SHA256 = s.Files[e.Ref].SHA256
		}
	}
	return out
}
