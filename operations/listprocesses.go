package operations

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentprocess-temporal/server/catalog"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/process"
)

type listProcessesArguments struct {
	Cursor string `json:"cursor"`
}

type processItem struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Version     int               `json:"version"`
	Inputs      process.Fields    `json:"inputs"`
	Requires    *process.Requires `json:"requires,omitempty"`
}

type processPlace struct {
	Name string `json:"name"`
}

// listProcesses lists the newest version of every published process (tools
// list_processes).
func (s *Service) listProcesses(ctx context.Context, caller identity.Caller, a listProcessesArguments) (any, error) {
	after, err := readCursor[processPlace](a.Cursor)
	if err != nil {
		return nil, err
	}
	if after == nil {
		after = &processPlace{}
	}
	versions, err := catalog.List(ctx, s.Pool, caller.Org, after.Name, defaultPage+1)
	if err != nil {
		return nil, err
	}
	result := page[processItem]{Items: []processItem{}}
	if len(versions) > defaultPage {
		versions = versions[:defaultPage]
		result.NextCursor = writeCursor(processPlace{versions[defaultPage-1].Name})
	}
	for _, v := range versions {
		var p process.Process
		if err := json.Unmarshal(v.Document, &p); err != nil {
			return nil, fmt.Errorf("stored process %q version %d: %w", v.Name, v.Number, err)
		}
		item := processItem{Name: p.Name, Description: p.Description, Version: v.Number, Inputs: p.Inputs, Requires: p.Requires}
		if item.Inputs == nil {
			item.Inputs = process.Fields{}
		}
		result.Items = append(result.Items, item)
	}
	return result, nil
}
