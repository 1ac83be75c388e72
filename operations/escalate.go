package operations

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/run"
)

type escalateArguments struct {
	Token     string `json:"token"`
	Note      string `json:"note"`
	RequestID string `json:"requestId"`
}

// escalate hands a claimed step to a person (tools escalate).
func (s *Service) escalate(ctx context.Context, caller identity.Caller, a escalateArguments, raw json.RawMessage) (any, error) {
	if strings.TrimSpace(a.Note) == "" {
		return nil, run.Refuse(run.Invalid, "an escalation says what a person has to know", "note: must not be blank")
	}
	q, holder, err := s.holder(caller, "escalate", a.Token, a.RequestID, raw)
	if err != nil {
		return nil, err
	}
	return s.write(ctx, write{request: q, command: run.Command{
		Escalate: &run.EscalateStep{Holder: holder, Note: a.Note},
	}})
}
