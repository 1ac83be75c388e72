package notify

import (
	"context"
	"time"
)

// Kind is what a notification is about.
type Kind string

// The kinds of notification.
const (
	// Work is a new work item for its assignee (spec §3.4).
	Work Kind = "work"
	// Escalated is a step that an agent handed to people (spec §3.3).
	Escalated Kind = "escalated"
	// Overdue is a step whose `due` has passed (spec §2.2).
	Overdue Kind = "overdue"
)

// Operators addresses the operators of the organization. Other addresses are
// "group:" and a group id, and "person:" and an email address.
const Operators = "operators"

// Notification is one message to some people. Its JSON is what the log shows
// and what a channel that speaks JSON sends.
type Notification struct {
	// ID is the same whenever the same notification is delivered again.
	ID      string `json:"id"`
	Org     string `json:"org"`
	RunID   string `json:"runId"`
	Process string `json:"process"`
	Version int    `json:"version"`
	StepID  string `json:"stepId,omitempty"`
	// ItemID is the work item, empty where an overdue step has none.
	ItemID string   `json:"itemId,omitempty"`
	Kind   Kind     `json:"kind"`
	To     []string `json:"to"`
	// Due is when the step is, or was, due.
	Due *time.Time `json:"due,omitempty"`
	// At is when what it tells of happened, not when it was sent.
	At time.Time `json:"at"`
}

// Channel carries notifications. Deliver returns an error when any of them may
// not have arrived; all are then delivered again, so a receiver that must not
// see one twice goes by its ID. It is safe for concurrent use, and ends with ctx.
type Channel interface {
	Deliver(ctx context.Context, notifications []Notification) error
}
