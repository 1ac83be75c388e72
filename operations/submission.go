package operations

import (
	"context"
	"encoding/json"

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
	sub := run.Submission{Output: a.Output, Evidence: a.Evidence, Next: a.Next, Reason: a.Reason}
	if a.Summary != nil {
		sub.Summary = *a.Summary
	}
	return sub
}

// verify finds out what a submission claims about the world outside the run:
// that its files exist unchanged and its persons are known. A submission that
// could not be accepted for its size alone does not travel: its issues do.
func (s *Service) verify(ctx context.Context, r *run.Run, stepID string, by run.Actor, sub *run.Submission) error {
	step := r.Process.Step(stepID)
	if step == nil {
		return nil // the run refuses it
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
			return err
		}
		sub.Files = make(map[string]run.File, len(facts))
		for id, f := range facts {
			sub.Files[id] = run.File{SHA256: f.SHA256, Intact: f.Intact}
		}
	}
	sub.UnknownPersons = s.unknownPersons(step.Output, sub.Output)
	if size := sub.Size(); size > r.Limits.RunDataBytes {
		issues := append(run.Acceptance(step, by, *sub), run.TooLarge(size, r.Limits))
		*sub = run.Submission{Refused: issues}
	}
	return nil
}

// unknownPersons lists the person values that the directory does not know.
func (s *Service) unknownPersons(fields process.Fields, value json.RawMessage) []string {
	if len(fields) == 0 || len(value) == 0 {
		return nil
	}
	var unknown []string
	for _, p := range fields.Persons(value) {
		if !s.Directory.Resolve(p.Value) {
			unknown = append(unknown, p.Value)
		}
	}
	return unknown
}
