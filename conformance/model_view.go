package conformance

import (
	"slices"

	"github.com/agentprocess-temporal/server/process"
)

// runState is spec §3.5.
func (m *model) runState() string {
	if m.over() {
		return m.state
	}
	for _, s := range m.steps {
		if s.state == "ready" || s.state == "claimed" {
			return "active"
		}
	}
	return "waiting"
}

// view is the run view that is expected now.
func (m *model) view(runID string) any {
	steps := []any{}
	items := []any{}
	for i := range m.p.Steps {
		s := m.steps[m.p.Steps[i].ID]
		steps = append(steps, m.stepView(s))
		if s.hasItem() {
			items = append(items, m.item(runID, s))
		}
	}
	return Args{
		"run": Args{
			"id": runID, "process": m.p.Name, "version": m.version, "mode": m.mode, "state": m.runState(),
			"outcome": m.outcome, "ended": m.ended, "startedBy": m.startedBy, "startedAt": aTime{}, "updatedAt": aTime{},
		},
		"data": m.data(), "steps": steps, "workItems": bag{"stepId", items}, "body": m.p.Body,
	}
}

func (m *model) stepView(s *mstep) any {
	v := Args{"id": s.def.ID, "kind": string(s.def.Kind), "state": s.state, "due": perhaps{anything{}}, "overdue": perhaps{false}}
	switch {
	case s.state != "":
	case s.rejecting:
		v["state"] = either{nil, "done"} // the text leaves it open
	case m.over():
		v["state"] = either{nil, "cancelled"} // so it is with a step that was not reached
	default:
		v["state"] = nil
	}
	switch {
	case s.def.Due.IsZero():
		v["due"] = perhaps{nil}
	case s.open():
		v["due"], v["overdue"] = aTime{}, s.overdue
	default:
		v["overdue"] = perhaps{anything{}}
	}
	return v
}

// data is run data as it must be (spec §3.1).
func (m *model) data() any {
	steps := Args{}
	for id, s := range m.steps {
		switch {
		case s.soft != nil:
			// A step that is done again: its last completion is shown, or is history.
			steps[id] = either{
				shown(nil, append(slices.Clone(s.history), s.soft)),
				shown(s.soft, s.history),
			}
		case s.cur != nil || len(s.history) > 0:
			steps[id] = shown(s.cur, s.history)
		}
	}
	return Args{"inputs": m.inputs, "steps": steps}
}

func shown(cur map[string]any, history []any) any {
	out := Args{}
	for k, v := range cur {
		out[k] = v
	}
	out["history"] = append([]any{}, history...)
	if len(history) == 0 {
		if cur["decision"] == "failed" || cur["by"] == "server" {
			out["history"] = perhaps{[]any{}}
		}
	}
	return out
}

// item is the work item of a step as it must be.
func (m *model) item(runID string, s *mstep) Args {
	var id any = aText{}
	if s.item != "" {
		id = s.item
	}
	it := Args{
		"id": id, "stepId": s.def.ID, "kind": string(s.def.Kind), "text": s.def.Text,
		"output": nil, "evidence": nil, "next": nil, "handoff": m.handoff(s),
		"assignedTo": s.assigned, "snapshot": aText{}, "due": nil, "escalation": s.escalation,
		"mode": perhaps{"live"},
		"decide": Args{
			"tool":      "decide",
			"arguments": Args{"runId": runID, "workItemId": id, "snapshot": aText{}, "requestId": aText{}},
			"decisions": bagOf(m.decisions(s)),
		},
	}
	if s.escalation != nil {
		it["assignedTo"] = either{Args{"group": aText{}}, Args{"person": anything{}}}
	}
	if s.def.Kind != process.Approve {
		it["output"], it["evidence"], it["next"] = requirements(s.def)
	}
	if !s.def.Due.IsZero() {
		it["due"] = aTime{}
	}
	if m.mode == "test" {
		it["mode"] = "test"
	}
	return it
}

// bagOf is a list of texts whose order does not matter.
func bagOf(texts []string) any {
	var all either
	permute(texts, func(p []string) { all = append(all, norm(p)) })
	return all
}

func permute(texts []string, visit func([]string)) {
	var walk func(done, left []string)
	walk = func(done, left []string) {
		if len(left) == 0 {
			visit(slices.Clone(done))
			return
		}
		for i := range left {
			rest := slices.Delete(slices.Clone(left), i, i+1)
			walk(append(slices.Clone(done), left[i]), rest)
		}
	}
	walk(nil, texts)
}

func (m *model) decisions(s *mstep) []string {
	switch {
	case s.escalation != nil:
		return []string{"returned", "completed", "failed"}
	case s.def.Kind == process.Task:
		return []string{"completed", "failed"}
	}
	return []string{"approved", "rejected", "failed"}
}

// requirements are what a completion of a step must bring.
func requirements(def *process.Step) (output, evidence, next any) {
	output, evidence = fieldsJSON(def.Output), either{nil, []any{}}
	if len(def.Evidence) > 0 {
		var kinds []string
		for _, k := range def.Evidence {
			kinds = append(kinds, string(k))
		}
		evidence = bagOf(kinds)
	}
	if len(def.Routes) > 0 {
		routes := []any{}
		for _, r := range def.Routes {
			route := Args{"to": r.To, "when": perhaps{nil}}
			if r.When != "" {
				route["when"] = r.When
			}
			routes = append(routes, route)
		}
		next = routes
	}
	return output, evidence, next
}

// handoff is what the last attempt left (spec §3.3). More of an earlier attempt
// may be kept.
func (m *model) handoff(s *mstep) any {
	if len(s.handoff) == 0 {
		if s.escalation != nil {
			return either{nil, Args{}}
		}
		return nil
	}
	out := Args{}
	for k, v := range s.handoff {
		out[k] = v
	}
	return out
}

// claimView is the result of claim as it must be.
func (m *model) claimView(s *mstep) any {
	output, evidence, next := requirements(s.def)
	return Args{
		"token": aText{}, "expiresAt": aTime{}, "mode": m.mode,
		"step":    Args{"id": s.def.ID, "instructions": s.def.Text, "output": output, "evidence": evidence, "next": next},
		"handoff": m.handoff(s), "body": m.p.Body, "data": m.data(), "extensions": perhaps{anything{}},
	}
}

// agentWork is the get_work item of a ready step as it must be.
func (m *model) agentWork(runID string, s *mstep) any {
	var due any
	if !s.def.Due.IsZero() {
		due = aTime{}
	}
	return Args{
		"runId": runID, "stepId": s.def.ID, "process": m.p.Name, "version": m.version, "mode": m.mode,
		"readySince": aTime{}, "due": due, "overdue": s.overdue, "handoff": m.handoff(s),
		"claim": Args{"tool": "claim", "arguments": Args{"runId": runID, "stepId": s.def.ID, "requestId": aText{}}},
	}
}

// personWork is the get_work item of a person as it must be.
func (m *model) personWork(runID string, s *mstep) any {
	return Args{"runId": runID, "process": m.p.Name, "version": m.version, "mode": m.mode, "workItem": m.item(runID, s)}
}
