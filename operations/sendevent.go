package operations

import (
	"context"
	"encoding/json"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

type eventArguments struct {
	RunID     string          `json:"runId"`
	Name      string          `json:"name"`
	Data      json.RawMessage `json:"data"`
	RequestID string          `json:"requestId"`
}

// sendEvent delivers an event to a run (tools send_event).
func (s *Service) sendEvent(ctx context.Context, caller identity.Caller, a eventArguments, raw json.RawMessage) (any, error) {
	if !process.ValidID(a.Name) {
		return nil, run.Refuse(run.Invalid, "no wait can have this name", "name: must match ^[a-z][a-z0-9_-]{0,63}$")
	}
	q, err := newRequest(caller, "send_event", a.RequestID, a.RunID, raw)
	if err != nil {
		return nil, err
	}
	e := &run.SendEvent{Name: a.Name, Data: asWritten(a.Data)}
	if size := len(e.Data); size > s.RunDataBytes {
		// Not the run's to refuse: it is too large to reach it.
		return s.refuseLarge(ctx, q, e.Name, size)
	}
	return s.write(ctx, write{request: q, command: run.Command{Event: e}})
}

// refuseLarge refuses an event that is larger than any run takes, after what
// comes before that: a requestId that was used, a run that is not there or has
// ended, a caller who may send none.
func (s *Service) refuseLarge(ctx context.Context, q request, name string, size int) (any, error) {
	entry, row, now, err := s.look(ctx, q)
	if err != nil {
		return nil, err
	}
	if entry != nil {
		if done, err := s.settled(ctx, q, entry); done != nil || err != nil {
			return done, err
		}
	}
	if row == nil {
		return nil, run.Refuse(run.NotFound, "no such run")
	}
	r, err := s.open(ctx, q.caller.Org, row.Record)
	if err != nil {
		return nil, err
	}
	small := run.Command{By: actor(q.caller), NotAfter: now, Event: &run.SendEvent{Name: name}}
	if refused := r.Check(small, now); refused != nil && refused.Code != run.Invalid {
		return nil, refused
	}
	return nil, run.Refuse(run.Invalid, "the event does not fit into the run", run.TooLarge(size, r.Limits))
}
