package operations

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentprocess-temporal/server/files"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// submissionArguments are what submit and decide have in common. Pointers tell
// what was left out from what is empty.
type submissionArguments struct {
	Output   json.RawMessage `json:"output"`
	Evidence []run.Evidence  `json:"evidence"`
	Summary  *string         `json:"summary"`
	Next     *string         `json:"next"`
	Reason   *string         `json:"reason"`
}

func (a submissionArguments) submission() run.Submission {
	sub := run.Submission{Output: asWritten(a.Output), Evidence: a.Evidence, Next: a.Next, Reason: a.Reason}
	if a.Summary != nil {
		sub.Summary = *a.Summary
	}
	return sub
}

// asWritten is JSON that a caller gave as it travels to a run and is kept there:
// without white space, with <, > and & escaped. So it is as long as it counts for,
// which may be six times as long as it came.
func asWritten(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	written, err := json.Marshal(raw)
	if err != nil {
		return raw // no JSON, which is refused for that
	}
	return written
}

// maxIssues bounds the issues that travel to a run, in bytes: a caller can cause
// many more, and larger ones, than an update can carry.
const maxIssues = 16 << 10

// verify finds out what a submission claims about the world outside the run:
// that its files exist unchanged and its persons are known. One that cannot be
// accepted, and is too large to travel or has issues that are, does not travel:
// some of its issues do, for the handoff, and the caller gets those returned.
// itemID is the work item that a person completes with it, if any.
func (s *Service) verify(ctx context.Context, r *run.Run, stepID, itemID string, by run.Actor, sub *run.Submission) (issues []string, err error) {
	step := r.Process.Step(stepID)
	if step == nil {
		return nil, nil // the run refuses it
	}
	var refs []string
	for _, e := range sub.Evidence {
		if e.Kind == process.File {
			refs = append(refs, e.Ref)
		}
	}
	if len(refs) > 0 {
		facts, err := files.Verify(ctx, s.Pool, r.Org, refs)
		if err != nil {
			return nil, err
		}
		sub.Files = make(map[string]run.File, len(facts))
		for id, f := range facts {
			sub.Files[id] = run.File{SHA256: f.SHA256, Intact: f.Intact}
		}
	}
	sub.UnknownPersons = s.unknownPersons(r.Org, step.Output, sub.Output)
	issues = run.Acceptance(step, by, r.WithCandidate(itemID, *sub))
	travels := sizeOf(issues)
	if sub.Next != nil {
		travels += len(*sub.Next) // no route is as long
	}
	if sub.Size() <= r.Limits.RunDataBytes && travels <= maxIssues {
		return nil, nil
	}
	if size := r.Size() + sub.Size(); size > r.Limits.RunDataBytes {
		issues = append(issues, run.TooLarge(size, r.Limits))
	}
	*sub = run.Submission{Refused: some(issues)}
	return issues, nil
}

func sizeOf(issues []string) int {
	n := 0
	for _, issue := range issues {
		n += len(issue)
	}
	return n
}

// some are as many issues as may travel, from the first.
func some(issues []string) []string {
	var kept []string
	size := 0
	for i, issue := range issues {
		if size += len(issue); size > maxIssues {
			return append(kept, fmt.Sprintf("and %d more", len(issues)-i))
		}
		kept = append(kept, issue)
	}
	return kept
}

// unknownPersons lists the person values that the organization does not know.
func (s *Service) unknownPersons(org string, fields process.Fields, value json.RawMessage) []string {
	if len(fields) == 0 || len(value) == 0 {
		return nil
	}
	var unknown []string
	for _, p := range fields.Persons(value) {
		if !s.People.Resolve(org, p.Value) {
			unknown = append(unknown, p.Value)
		}
	}
	return unknown
}
