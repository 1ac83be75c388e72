package operations

import (
	"encoding/json"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/runtoken"
	"github.com/agentprocess-temporal/server/run"
)

// holder reads a claim token. One that does not verify names no run, so nothing
// can be said but invalid.
func (s *Service) holder(caller identity.Caller, tool, token, requestID string, raw json.RawMessage) (request, run.Holder, error) {
	claims, _, ok := runtoken.Parse(s.Tokens, caller.Org, token)
	if !ok {
		return request{}, run.Holder{}, run.Refuse(run.Invalid, "the token does not verify", "token: not a token of this server")
	}
	q, err := newRequest(caller, tool, requestID, claims.RunID, raw)
	return q, run.Holder{StepID: claims.StepID, Number: claims.Number}, err
}
