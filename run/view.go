package run

import (
	"time"

	"github.com/agentprocess-temporal/server/process"
)

// NewRequestID stands where a caller puts its own requestId into the exact
// call that an item offers.
const NewRequestID = "<new UUID>"

// View is the run view (tools, shared shapes).
type View struct {
	Run       Info       `json:"run"`
	Data      Data       `json:"data"`
	Steps     []StepView `json:"steps"`
	WorkItems []WorkItem `json:"workItems"`
	Body      string     `json:"body"`
}

// Info is the head of a run view.
type Info struct {
	ID        string    `json:"id"`
	Process   string    `json:"process"`
	Version   int       `json:"version"`
	Mode      Mode      `json:"mode"`
	State     State     `json:"state"`
	Outcome   *string   `json:"outcome"`
	Ended     *End      `json:"ended"`
	StartedBy string    `json:"startedBy"`
	StartedAt time.Time `json:"startedAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// StepView is a step in a run view. Due and Overdue are shown while the step
// is open.
type StepView struct {
	ID      string       `json:"id"`
	Kind    process.Kind `json:"kind"`
	State   *StepState   `json:"state"`
	Due     *time.Time   `json:"due,omitempty"`
	Overdue *bool        `json:"overdue,omitempty"`
}

// Requirements are what a completion of a step must bring; null where the
// step asks for nothing of the kind.
type Requirements struct {
	Output   *process.Fields        `json:"output"`
	Evidence []process.EvidenceKind `json:"evidence"`
	Next     []process.Route        `json:"next"`
}

// WorkItem is an open work item as people see it.
type WorkItem struct {
	ID     string       `json:"id"`
	StepID string       `json:"stepId"`
	Kind   process.Kind `json:"kind"`
	Text   string       `json:"text"`
	Requirements
	AssignedTo Assignment  `json:"assignedTo"`
	Snapshot   string      `json:"snapshot"`
	Due        *time.Time  `json:"due"`
	Escalation *Escalation `json:"escalation"`
	Handoff    *Handoff    `json:"handoff"`
	Mode       Mode        `json:"mode,omitempty"`
	Decide     DecideCall  `json:"decide"`
}

// DecideCall is the exact decide call to make, and what it may decide.
type DecideCall struct {
	Tool      string          `json:"tool"`
	Arguments DecideArguments `json:"arguments"`
	Decisions []Decision      `json:"decisions"`
}

// DecideArguments are the arguments of a decide call that the server knows.
type DecideArguments struct {
	RunID      string `json:"runId"`
	WorkItemID string `json:"workItemId"`
	Snapshot   string `json:"snapshot"`
	RequestID  string `json:"requestId"`
}

// AgentWork is a get_work item for an agent.
type AgentWork struct {
	RunID      string     `json:"runId"`
	StepID     string     `json:"stepId"`
	Process    string     `json:"process"`
	Version    int        `json:"version"`
	Mode       Mode       `json:"mode"`
	ReadySince time.Time  `json:"readySince"`
	Due        *time.Time `json:"due"`
	Overdue    bool       `json:"overdue"`
	Handoff    *Handoff   `json:"handoff"`
	Claim      ClaimCall  `json:"claim"`
}

// ClaimCall is the exact claim call to make.
type ClaimCall struct {
	Tool      string         `json:"tool"`
	Arguments ClaimArguments `json:"arguments"`
}

// ClaimArguments are the arguments of a claim call.
type ClaimArguments struct {
	RunID     string `json:"runId"`
	StepID    string `json:"stepId"`
	RequestID string `json:"requestId"`
}

// PersonWork is a get_work item for a person.
type PersonWork struct {
	RunID    string   `json:"runId"`
	Process  string   `json:"process"`
	Version  int      `json:"version"`
	Mode     Mode     `json:"mode"`
	WorkItem WorkItem `json:"workItem"`
}

// ClaimView is the result of claim.
type ClaimView struct {
	Token     string        `json:"token"`
	ExpiresAt time.Time     `json:"expiresAt"`
	Mode      Mode          `json:"mode"`
	Step      ClaimStepView `json:"step"`
	Handoff   *Handoff      `json:"handoff"`
	Body      string        `json:"body"`
	Data      Data          `json:"data"`
}

// ClaimStepView is the step as a claim gives it to an agent.
type ClaimStepView struct {
	ID           string `json:"id"`
	Instructions string `json:"instructions"`
	Requirements
}

// View is the run as everyone in the organization sees it. Like everything that
// is shown of a run it shares memory with it: write it down before the run goes on.
func (r *Run) View() View {
	v := View{
		Run: Info{
			ID: r.ID, Process: r.Record.Process, Version: r.Version, Mode: r.Mode,
			State: r.State, Outcome: r.Outcome, Ended: r.Ended,
			StartedBy: r.StartedBy, StartedAt: r.StartedAt, UpdatedAt: r.UpdatedAt,
		},
		Data:      r.Data,
		Steps:     make([]StepView, len(r.Steps)),
		WorkItems: []WorkItem{},
		Body:      r.Process.Body,
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		v.Steps[i] = StepView{ID: s.ID, Kind: r.Process.Steps[i].Kind}
		if s.State != StepNone {
			v.Steps[i].State = &s.State
		}
		if s.Due != nil {
			v.Steps[i].Due, v.Steps[i].Overdue = s.Due, &s.Overdue
		}
		if s.Item != nil {
			v.WorkItems = append(v.WorkItems, r.workItem(s))
		}
	}
	return v
}

func (r *Run) workItem(s *Step) WorkItem {
	step := r.processStep(s.ID)
	item := WorkItem{
		ID: s.Item.ID, StepID: s.ID, Kind: step.Kind, Text: step.Text,
		Requirements: requirements(step),
		AssignedTo:   s.Item.AssignedTo, Snapshot: r.Snapshot, Due: s.Due,
		Escalation: s.Item.Escalation, Handoff: s.Handoff,
		Decide: DecideCall{
			Tool:      "decide",
			Arguments: DecideArguments{RunID: r.ID, WorkItemID: s.Item.ID, Snapshot: r.Snapshot, RequestID: NewRequestID},
			Decisions: r.decisions(s),
		},
	}
	if r.Mode == Test {
		item.Mode = Test
	}
	return item
}

// WithURLs returns a copy whose file evidence carries what url gives for it.
func (v View) WithURLs(url func(fileID string) string) View {
	v.Data = v.Data.WithURLs(url)
	items := make([]WorkItem, len(v.WorkItems))
	for i, item := range v.WorkItems {
		items[i] = item.WithURLs(url)
	}
	v.WorkItems = items
	return v
}

// WithURLs returns a copy whose held submission carries what url gives for its
// file evidence.
func (w WorkItem) WithURLs(url func(fileID string) string) WorkItem {
	if w.Escalation == nil || w.Escalation.Candidate == nil {
		return w
	}
	e, c := *w.Escalation, w.Escalation.Candidate.withURLs(url)
	e.Candidate = &c
	w.Escalation = &e
	return w
}

func requirements(step *process.Step) Requirements {
	q := Requirements{Evidence: step.Evidence, Next: step.Routes}
	if len(step.Output) > 0 {
		q.Output = &step.Output
	}
	return q
}

// AgentWork is the get_work item of a ready agent step; false if it is not
// ready.
func (r *Run) AgentWork(stepID string) (AgentWork, bool) {
	step := r.processStep(stepID)
	if step == nil || step.Kind != process.Agent || r.state(stepID).State != StepReady {
		return AgentWork{}, false
	}
	s := r.state(stepID)
	return AgentWork{
		RunID: r.ID, StepID: s.ID, Process: r.Record.Process, Version: r.Version, Mode: r.Mode,
		ReadySince: s.Since, Due: s.Due, Overdue: s.Overdue, Handoff: s.Handoff,
		Claim: ClaimCall{Tool: "claim", Arguments: ClaimArguments{RunID: r.ID, StepID: s.ID, RequestID: NewRequestID}},
	}, true
}

// PersonWork is the get_work item of an open work item; false if it is not
// open, or not the actor's to decide.
func (r *Run) PersonWork(itemID string, by Actor) (PersonWork, bool) {
	s := r.item(itemID)
	if s == nil || !s.Item.AssignedTo.includes(by) {
		return PersonWork{}, false
	}
	return PersonWork{RunID: r.ID, Process: r.Record.Process, Version: r.Version, Mode: r.Mode, WorkItem: r.workItem(s)}, true
}

// ClaimView is the result of a claim that was granted; the token is signed
// elsewhere.
func (r *Run) ClaimView(g Granted) ClaimView {
	step, s := r.processStep(g.StepID), r.state(g.StepID)
	return ClaimView{
		ExpiresAt: g.ExpiresAt, Mode: r.Mode,
		Step:    ClaimStepView{ID: step.ID, Instructions: step.Text, Requirements: requirements(step)},
		Handoff: s.Handoff, Body: r.Process.Body, Data: r.Data,
	}
}
