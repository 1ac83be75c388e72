package run

import (
	"encoding/json"
	"time"
)

// Mode is how a run was started (spec §3.3).
type Mode string

// The modes.
const (
	Live Mode = "live"
	Test Mode = "test"
)

// State is the state of a run (spec §3.5).
type State string

// The states of a run.
const (
	Active    State = "active"
	Waiting   State = "waiting"
	Ended     State = "ended"
	Cancelled State = "cancelled"
)

// StepState is the state of a step (spec §3.5); empty where a step is not
// currently reached.
type StepState string

// The states of a step.
const (
	StepNone      StepState = ""
	StepReady     StepState = "ready"
	StepClaimed   StepState = "claimed"
	StepWaiting   StepState = "waiting"
	StepDone      StepState = "done"
	StepFailed    StepState = "failed"
	StepCancelled StepState = "cancelled"
)

// Server is who completes what no caller completes (spec §3.1).
const Server = "server"

// OperatorGroup is the group that escalations are assigned to (spec §3.3).
const OperatorGroup = "operators"

// Record is everything there is to know about a run except the process it
// pins. It is what a write returns and what is stored for reading.
type Record struct {
	// Seq grows by one with every change, so of two records of a run the one
	// with the higher Seq is the newer.
	Seq     int64  `json:"seq"`
	Org     string `json:"org"`
	ID      string `json:"id"`
	Process string `json:"process"`
	Version int    `json:"version"`
	Mode    Mode   `json:"mode"`
	State   State  `json:"state"`
	// Outcome is set once the run ended: a finish outcome, `rejected` or `failed`.
	Outcome   *string   `json:"outcome,omitempty"`
	Ended     *End      `json:"ended,omitempty"`
	StartedBy string    `json:"startedBy"`
	StartedAt time.Time `json:"startedAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// Initiator is the person who started the run; empty when an agent did.
	Initiator string `json:"initiator,omitempty"`
	// Bindings map the process's role names to groups, as published.
	Bindings map[string]string `json:"bindings,omitempty"`
	Limits   Limits            `json:"limits"`

	Data Data `json:"data"`
	// Snapshot is the hash of Data, kept so that reads need not compute it.
	Snapshot string `json:"snapshot"`
	// Steps are in the order of the process.
	Steps []Step `json:"steps"`
	// Held are the events that no wait has consumed yet, oldest first (spec §3.6).
	Held []Event `json:"held,omitempty"`
	// Judged are the newest verdicts of checks, oldest first, whatever became of
	// what they were about.
	Judged []Judged `json:"judged,omitempty"`

	// Counters for ids and for the order in which steps completed.
	Items       int64 `json:"items"`
	Claims      int64 `json:"claims"`
	Completions int64 `json:"completions"`
}

// Limits bound a run; they are pinned at its start.
type Limits struct {
	// RunDataBytes caps run data together with held events, held submissions and
	// handoffs.
	RunDataBytes int `json:"runDataBytes"`
	// Check are those of checks; zero means [DefaultCheckLimits].
	Check CheckLimits `json:"check,omitzero"`
}

// End says who ended a run, when, and why (spec §3.5).
type End struct {
	By   string    `json:"by"`
	At   time.Time `json:"at"`
	Note *string   `json:"note"`
}

// Step is the state of one step. Everything but ID, State and Order is zero
// unless the step is open: ready, claimed or waiting.
type Step struct {
	ID    string    `json:"id"`
	State StepState `json:"state,omitempty"`
	// Since is when the step became ready, or ready again.
	Since   time.Time  `json:"since,omitzero"`
	Due     *time.Time `json:"due,omitempty"`
	Overdue bool       `json:"overdue,omitempty"`
	// Deadline is when a wait goes on by itself.
	Deadline *time.Time `json:"deadline,omitempty"`
	Claim    *Claim     `json:"claim,omitempty"`
	Item     *Item      `json:"item,omitempty"`
	Handoff  *Handoff   `json:"handoff,omitempty"`
	// Order is the place of the step's current completion among all
	// completions of the run; of a parallel step, the place of its fork.
	Order int64 `json:"order,omitempty"`
}

// Claim is who works a step, and until when.
type Claim struct {
	// Number tells this claim from every other of the run; a renewal has a new one.
	Number    int64     `json:"number"`
	By        string    `json:"by"`
	At        time.Time `json:"at"`
	ExpiresAt time.Time `json:"expiresAt"`
	Progress  string    `json:"progress,omitempty"`
	// Checking is since when a submission of the claim is being checked; the lease
	// stands still until that is done.
	Checking time.Time `json:"checking,omitzero"`
}

// Item is an open work item: what a person is asked (spec §3.4).
type Item struct {
	ID         string      `json:"id"`
	Since      time.Time   `json:"since"`
	AssignedTo Assignment  `json:"assignedTo"`
	Escalation *Escalation `json:"escalation,omitempty"`
}

// Assignment is who may decide an item: exactly one field is set.
type Assignment struct {
	Group  string `json:"group,omitempty"`
	Person string `json:"person,omitempty"`
}

// Escalation is why a step waits on an operator: an agent's note, or a check that
// was unsure about the submission held as the candidate.
type Escalation struct {
	Note      string      `json:"note"`
	By        string      `json:"by"`
	At        time.Time   `json:"at"`
	Check     *Verdict    `json:"check,omitempty"`
	Candidate *Completion `json:"candidate,omitempty"`
}

// Handoff is what earlier attempts at a step left behind (spec §3.3).
type Handoff struct {
	Progress string    `json:"progress,omitempty"`
	Returned *Returned `json:"returned,omitempty"`
	Issues   []string  `json:"issues,omitempty"`
	Check    *Verdict  `json:"check,omitempty"`
}

// Returned is the note with which a person sent a step back.
type Returned struct {
	Note string    `json:"note"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

// Event is a held event.
type Event struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data,omitempty"`
	By   string          `json:"by"`
	At   time.Time       `json:"at"`
}

// Open reports whether the step is ready, claimed or waiting.
func (s *Step) Open() bool {
	return s.State == StepReady || s.State == StepClaimed || s.State == StepWaiting
}

// Over reports whether the run has ended or was cancelled.
func (r *Record) Over() bool { return r.State == Ended || r.State == Cancelled }

// escalation is why the step's open item is an operator's, or nil.
func (s *Step) escalation() *Escalation {
	if s.Item == nil {
		return nil
	}
	return s.Item.Escalation
}

// handoff returns the step's handoff, making one where there is none.
func (s *Step) handoff() *Handoff {
	if s.Handoff == nil {
		s.Handoff = &Handoff{}
	}
	return s.Handoff
}
