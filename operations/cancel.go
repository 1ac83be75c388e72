package operations

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/run"
)

type cancelArguments struct {
	RunID     string `json:"runId"`
	Reason    string `json:"reason"`
	RequestID string `json:"requestId"`
}

// cancel cancels a run (tools cancel).
func (s *Service) cancel(ctx context.Context, caller identity.Caller, a cancelArguments, raw json.RawMessage) (any, error) {
	if strings.TrimSpace(a.Reason) == "" {
		return nil, run.Refuse(run.Invalid, "a cancellation says why", "reason: must not be blank")
	}
	q, err := newRequest(caller, "cancel", a.RequestID, a.RunID, raw)
	if err != nil {
		return nil, err
	}
	return s.write(ctx, write{request: q, command: run.Command{Cancel: &run.CancelRun{Reason: a.Reason}}})
}
