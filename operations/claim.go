package operations

import (
	"context"
	"encoding/json"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/run"
)

type claimArguments struct {
	RunID     string `json:"runId"`
	StepID    string `json:"stepId"`
	RequestID string `json:"requestId"`
}

// claim gives the caller a ready agent step for a lease (tools claim).
func (s *Service) claim(ctx context.Context, caller identity.Caller, a claimArguments, raw json.RawMessage) (any, error) {
	q, err := newRequest(caller, "claim", a.RequestID, a.RunID, raw)
	if err != nil {
		return nil, err
	}
	return s.write(ctx, write{request: q, command: run.Command{
		Claim: &run.ClaimStep{StepID: a.StepID, Lease: int64(s.Lease.Seconds()), Key: s.Tokens.Current()},
	}})
}
