package run

import (
	"fmt"
	"time"
)

// Notification kinds.
const (
	NotifyWork      = "work"
	NotifyEscalated = "escalated"
	NotifyOverdue   = "overdue"
)

// Notification is news that the run owes somebody (spec §2.2 due, §3.4).
type Notification struct {
	// ID is unique in the organization, so that a receiver can tell a repeat.
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	StepID string `json:"stepId"`
	ItemID string `json:"itemId,omitempty"`
	// To are the assignee and, for escalations and overdue work, the operators.
	To  []Assignment `json:"to"`
	Due *time.Time   `json:"due,omitempty"`
	At  time.Time    `json:"at"`
}

// owe adds a notification about a step. Test runs notify nobody (spec §3.3).
func (r *Run) owe(kind string, s *Step, at time.Time) {
	if r.Mode == Test {
		return
	}
	r.Notified++
	n := Notification{ID: fmt.Sprintf("%s-%d", r.ID, r.Notified), Kind: kind, StepID: s.ID, Due: s.Due, At: at}
	operators := Assignment{Group: OperatorGroup}
	if s.Item != nil {
		n.ItemID = s.Item.ID
		n.To = append(n.To, s.Item.AssignedTo)
	}
	if kind == NotifyOverdue && (len(n.To) == 0 || n.To[0] != operators) {
		n.To = append(n.To, operators)
	}
	r.Outbox = append(r.Outbox, n)
}

// Delivered takes notifications that were delivered, or given up, off the outbox.
func (r *Run) Delivered(ids []string) {
	gone := make(map[string]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
	}
	kept := r.Outbox[:0]
	for _, n := range r.Outbox {
		if !gone[n.ID] {
			kept = append(kept, n)
		}
	}
	r.Outbox = kept
}
