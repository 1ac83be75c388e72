package operations

import (
	"context"
	"encoding/json"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/run"
)

type submitArguments struct {
	Token     string `json:"token"`
	RequestID string `json:"requestId"`
	submissionArguments
}

// submit completes a claimed step (tools submit).
func (s *Service) submit(ctx context.Context, caller identity.Caller, a submitArguments, raw json.RawMessage) (any, error) {
	q, holder, err := s.holder(caller, "submit", a.Token, a.RequestID, raw)
	if err != nil {
		return nil, err
	}
	return s.write(ctx, write{
		request: q,
		command: run.Command{CheckSeconds: s.checkSeconds(), Submit: &run.SubmitStep{Holder: holder, Submission: a.submission()}},
		facts: func(ctx context.Context, r *run.Run, c *run.Command) ([]string, error) {
			return s.verify(ctx, r, holder.StepID, "", c.By, &c.Submit.Submission)
		},
	})
}
