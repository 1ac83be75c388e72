package operations

import (
	"encoding/json"
	"strings"

	"github.com/agentprocess-temporal/server/internal/canonical"
	"github.com/agentprocess-temporal/server/records"
	"github.com/agentprocess-temporal/server/run"
)

// Row is a run as the read model stores it, with the work it offers.
func Row(r *run.Run) (records.Row, error) {
	record, err := json.Marshal(r.Record)
	if err != nil {
		return records.Row{}, err
	}
	keys, err := inputKeys(r.Data.Inputs)
	if err != nil {
		return records.Row{}, err
	}
	return records.Row{
		Org: r.Org, RunID: r.ID, Seq: r.Seq, Process: r.Record.Process, Version: r.Version,
		State: string(r.State), Outcome: r.Outcome, StartedAt: r.StartedAt, UpdatedAt: r.UpdatedAt,
		Inputs: r.Data.Inputs, InputKeys: keys, Files: r.Files(), Record: record, Work: offered(r),
	}, nil
}

// offered lists what a run offers: agent steps, those that are claimed from the
// moment their lease ends unless it is held, and open work items.
func offered(r *run.Run) []records.Work {
	var work []records.Work
	for i := range r.Steps {
		s := &r.Steps[i]
		switch {
		case s.Item != nil:
			work = append(work, records.Work{
				Key: s.Item.ID, StepID: s.ID, Process: r.Record.Process,
				Available: s.Item.Since, Assignee: assigneeKey(s.Item.AssignedTo),
			})
		case s.State == run.StepReady:
			work = append(work, records.Work{Key: s.ID, Agent: true, StepID: s.ID, Process: r.Record.Process, Available: s.Since})
		case s.State == run.StepClaimed && s.Claim.Checking.IsZero():
			work = append(work, records.Work{Key: s.ID, Agent: true, StepID: s.ID, Process: r.Record.Process, Available: s.Claim.ExpiresAt})
		}
	}
	return work
}

func assigneeKey(a run.Assignment) string {
	if a.Person != "" {
		return "person:" + strings.ToLower(a.Person)
	}
	return "group:" + a.Group
}

// inputKeys are what list_runs finds a run by: one key an input, the same for
// equal values however they are written.
func inputKeys(inputs json.RawMessage) ([]string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(inputs, &fields); err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(fields))
	for name, value := range fields {
		form, err := canonical.ValueKey(value)
		if err != nil {
			return nil, err
		}
		keys = append(keys, name+"\x00"+form)
	}
	return keys, nil
}
