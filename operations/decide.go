package operations

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/run"
)

type decideArguments struct {
	RunID      string       `json:"runId"`
	WorkItemID string       `json:"workItemId"`
	Snapshot   string       `json:"snapshot"`
	Decision   run.Decision `json:"decision"`
	Note       *string      `json:"note"`
	RequestID  string       `json:"requestId"`
	submissionArguments
}

// maxSnapshot is longer than any snapshot, in bytes.
const maxSnapshot = 128

// decide decides a work item (tools decide).
func (s *Service) decide(ctx context.Context, caller identity.Caller, a decideArguments, raw json.RawMessage) (any, error) {
	if issues := a.issues(); len(issues) > 0 {
		return nil, run.Refuse(run.Invalid, "the arguments do not go with the decision", issues...)
	}
	q, err := newRequest(caller, "decide", a.RequestID, a.RunID, raw)
	if err != nil {
		return nil, err
	}
	d := &run.DecideItem{ItemID: a.WorkItemID, Snapshot: a.Snapshot, Decision: a.Decision, Submission: a.submission()}
	if a.Note != nil {
		d.Note = *a.Note
	}
	if len(d.Snapshot) > maxSnapshot {
		d.Snapshot = "" // stale either way, and may be too large to travel
	}
	return s.write(ctx, write{
		request: q,
		command: run.Command{CheckSeconds: s.checkSeconds(), Decide: d},
		facts: func(ctx context.Context, r *run.Run, c *run.Command) ([]string, error) {
			if c.Decide.Decision != run.Completed {
				return nil, nil
			}
			return s.verify(ctx, r, r.StepOfItem(c.Decide.ItemID), c.Decide.ItemID, c.By, &c.Decide.Submission)
		},
	})
}

// issues lists the arguments that the decision does not take, and those that it
// lacks (tools decide). Whether the item takes the decision is the run's to say.
func (a decideArguments) issues() []string {
	var issues []string
	given := func(present bool, name string) {
		if present {
			issues = append(issues, name+": not an argument of "+string(a.Decision))
		}
	}
	if a.Decision == run.Completed {
		given(a.Note != nil, "note")
		return issues
	}
	given(a.Output != nil, "output")
	given(a.Evidence != nil, "evidence")
	given(a.Summary != nil, "summary")
	given(a.Next != nil, "next")
	given(a.Reason != nil, "reason")
	if a.Decision != run.Approved && (a.Note == nil || strings.TrimSpace(*a.Note) == "") {
		issues = append(issues, "note: required with "+string(a.Decision))
	}
	return issues
}
