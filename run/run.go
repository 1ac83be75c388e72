package run

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentprocess-temporal/server/process"
)

// Run is a run together with the process it pins, the writes it remembers and
// the notifications it owes. It is not safe for concurrent use.
type Run struct {
	Process *process.Process `json:"-"`
	Record
	// Requests are the writes whose outcome must be known again.
	Requests []Request `json:"requests,omitempty"`
	// Outbox are the notifications not yet delivered, oldest first.
	Outbox []Notification `json:"outbox,omitempty"`
	// Notified counts notifications, for their ids.
	Notified int64 `json:"notified,omitempty"`
	// LeasesLost and Overdues count what deadlines did, for whoever measures.
	LeasesLost int64 `json:"leasesLost,omitempty"`
	Overdues   int64 `json:"overdues,omitempty"`

	laidOut *layout
}

// Actor is who does something to a run, as authentication established it.
type Actor struct {
	ID string `json:"id"`
	// Person is true for a human identity, false for an agent.
	Person   bool     `json:"person,omitempty"`
	Groups   []string `json:"groups,omitempty"`
	Operator bool     `json:"operator,omitempty"`
	// Client is the program that called, OnBehalfOf the person whose sign-in an
	// agent used, where that is known. No rule looks at them: they are kept with a
	// request until its outcome is stored, for whoever then stores it to log.
	Client     string `json:"client,omitempty"`
	OnBehalfOf string `json:"onBehalfOf,omitempty"`
}

// caller is the actor as a request remembers it: without what it may do.
func (a Actor) caller() *Actor {
	a.Groups, a.Operator = nil, false
	return &a
}

// Start is what a run begins with.
type Start struct {
	Org      string            `json:"org"`
	RunID    string            `json:"runId"`
	Process  *process.Process  `json:"process"`
	Version  int               `json:"version"`
	Bindings map[string]string `json:"bindings,omitempty"`
	Mode     Mode              `json:"mode"`
	Inputs   json.RawMessage   `json:"inputs"`
	By       Actor             `json:"by"`
	Limits   Limits            `json:"limits"`
	// The request that starts the run; see [Command].
	RequestID string    `json:"requestId"`
	Digest    string    `json:"digest"`
	Attempt   string    `json:"attempt"`
	NotAfter  time.Time `json:"notAfter"`
}

// CheckStart says why a run cannot start, with every issue at once, or nil
// (tools start_run). unknown are person values the directory does not know.
func CheckStart(p *process.Process, inputs json.RawMessage, by Actor, limits Limits, unknown []string) *Error {
	if len(p.Steps) == 0 {
		return Refuse(Invalid, "the process has no steps")
	}
	issues := fieldIssues(p.Inputs, "inputs", inputs, unknown)
	if !by.Person && p.UsesInitiator() {
		issues = append(issues, "initiator: this process assigns a step to the person who starts it, so an agent cannot start it")
	}
	if size := len(object(inputs)) + emptyData; size > limits.RunDataBytes {
		issues = append(issues, TooLarge(size, limits))
	}
	if len(issues) > 0 {
		return Refuse(Invalid, "the run cannot start with these inputs", issues...)
	}
	return nil
}

// New begins a run: its first step is entered and every automatic transition
// applied (spec §3.2). The start must have passed [CheckStart].
func New(s Start, now time.Time) *Run {
	now = cut(now)
	r := &Run{
		Process: s.Process,
		Record: Record{
			Org: s.Org, ID: s.RunID, Process: s.Process.Name, Version: s.Version, Mode: s.Mode,
			State: Active, StartedBy: s.By.ID, StartedAt: now, UpdatedAt: now,
			Bindings: s.Bindings, Limits: s.Limits,
			Data: Data{Inputs: object(s.Inputs), Steps: map[string]*StepData{}},
		},
	}
	if s.By.Person {
		r.Initiator = s.By.ID
	}
	for i := range s.Process.Steps {
		r.Steps = append(r.Steps, Step{ID: s.Process.Steps[i].ID})
	}
	r.enter(s.Process.Steps[0].ID, now)
	r.remember(Request{ID: s.RequestID, Digest: s.Digest, Attempt: s.Attempt, Tool: "start_run", At: now, By: s.By.caller()}, Outcome{})
	r.settle(now)
	r.seal()
	return r
}

// emptyData is what run data takes besides the inputs when a run starts, in bytes.
const emptyData = len(`{"inputs":,"steps":{}}`)

// Open makes a run of a stored record, to read it or to see what a write
// would say. The record is the caller's to give away: it may be changed.
func Open(p *process.Process, record Record) *Run {
	return &Run{Process: p, Record: record}
}

// settle brings what follows from the state up to date after a change.
func (r *Run) settle(at time.Time) {
	r.Seq++
	r.UpdatedAt = at
	if !r.Over() {
		r.State = Waiting
		for i := range r.Steps {
			if r.Steps[i].State == StepReady || r.Steps[i].State == StepClaimed {
				r.State = Active
			}
		}
	}
}

// seal computes the snapshot where run data changed. It costs as much as run
// data is long, so several changes are sealed at once.
func (r *Run) seal() {
	if r.Snapshot == "" {
		r.Snapshot = r.Data.snapshot()
	}
}

// item returns the step with this open work item, or nil.
func (r *Run) item(id string) *Step {
	for i := range r.Steps {
		if r.Steps[i].Item != nil && r.Steps[i].Item.ID == id {
			return &r.Steps[i]
		}
	}
	return nil
}

// Size is what counts towards the run data cap, in bytes: run data, held events,
// held submissions and handoffs, as JSON.
func (r *Run) Size() int {
	n := len(mustMarshal(r.Data))
	for i := range r.Held {
		n += r.Held[i].size()
	}
	for i := range r.Steps {
		n += r.Steps[i].held()
	}
	return n
}

// TooLarge is the issue of what would take run data over its cap (spec §6 rule 3).
func TooLarge(size int, l Limits) string {
	return fmt.Sprintf("run data: would be %d bytes, the limit is %d", size, l.RunDataBytes)
}

// StepOfItem is the id of the step that an open work item is of, or empty.
func (r *Run) StepOfItem(itemID string) string {
	if s := r.item(itemID); s != nil {
		return s.ID
	}
	return ""
}
