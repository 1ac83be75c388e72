package operations

import (
	"context"
	"encoding/json"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/run"
)

type renewArguments struct {
	Token     string `json:"token"`
	Progress  string `json:"progress"`
	RequestID string `json:"requestId"`
}

// renew extends a claim under a new token (tools renew).
func (s *Service) renew(ctx context.Context, caller identity.Caller, a renewArguments, raw json.RawMessage) (any, error) {
	q, holder, err := s.holder(caller, "renew", a.Token, a.RequestID, raw)
	if err != nil {
		return nil, err
	}
	return s.write(ctx, write{request: q, command: run.Command{
		Renew: &run.RenewClaim{
			Holder: holder, Progress: a.Progress, Lease: int64(s.Lease.Seconds()), Key: s.Tokens.Current(),
		},
	}})
}
