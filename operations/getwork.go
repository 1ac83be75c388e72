package operations

import (
	"context"
	"encoding/json"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/records"
)

type getWorkArguments struct {
	Limit   *json.Number `json:"limit"`
	Cursor  string       `json:"cursor"`
	Process string       `json:"process"`
}

// getWork lists what the caller can do: for an agent the steps it may claim,
// for a person the open work items assigned to them, oldest first (tools
// get_work).
func (s *Service) getWork(ctx context.Context, caller identity.Caller, a getWorkArguments) (any, error) {
	after, err := readCursor[records.Cursor](a.Cursor)
	if err != nil {
		return nil, err
	}
	result := page[any]{Items: []any{}}
	if !postgres.ValidText(a.Process) {
		return result, nil
	}
	limit := limitOf(a.Limit)
	found, err := s.found(ctx, caller, a.Process, after, limit+1)
	if err != nil {
		return nil, err
	}
	if len(found) > limit {
		found = found[:limit]
		result.NextCursor = writeCursor(found[limit-1].Cursor())
	}
	by := actor(caller)
	for _, f := range found {
		r, err := s.open(ctx, caller.Org, f.Record)
		if err != nil {
			return nil, err
		}
		r.Advance(f.Now)
		// The index may be a moment behind the run; what is no longer open is
		// left out, and never listed as something it is not.
		if caller.IsPerson() {
			if item, ok := r.PersonWork(f.Key, by); ok {
				item.WorkItem = item.WorkItem.WithURLs(s.urls(caller.Org))
				result.Items = append(result.Items, item)
			}
		} else if item, ok := r.AgentWork(f.Key); ok {
			result.Items = append(result.Items, item)
		}
	}
	return result, nil
}

func (s *Service) found(ctx context.Context, caller identity.Caller, process string, after *records.Cursor, limit int) ([]records.Found, error) {
	if caller.IsPerson() {
		return records.PersonWork(ctx, s.Pool, caller.Org, caller.Assignees(), process, after, limit)
	}
	return records.AgentWork(ctx, s.Pool, records.WorkQuery{
		Org: caller.Org, Process: process, Processes: caller.Processes, After: after, Limit: limit,
	})
}
