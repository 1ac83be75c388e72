package workflows

import (
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/agentprocess-temporal/server/run"
)

// Names that histories, operators and other processes know these by.
const (
	// TypeRun and TypeReconcile are the workflow types.
	TypeRun       = "ProcessRun"
	TypeReconcile = "Reconcile"

	// UpdateStart opens a run, UpdateProject has it store what it knows. Every
	// other update is a write, named after its tool.
	UpdateStart   = "start"
	UpdateProject = "project"

	// QueryRun returns the run as the workflow holds it.
	QueryRun = "run"

	// The activities.
	ActivityProject   = "Project"
	ActivityNotify    = "Notify"
	ActivityEvaluate  = "Evaluate"
	ActivityReconcile = "ReconcileAll"
)

// WriteUpdates are the updates that carry a run.Command.
var WriteUpdates = []string{"claim", "renew", "submit", "escalate", "decide", "cancel", "send_event"}

// WorkflowID is the workflow id of a run.
func WorkflowID(org, runID string) string { return "agentprocess:" + org + ":" + runID }

// The search attributes, for operators who look for runs in Temporal. They
// hold ids and states, never run data.
var (
	AttrOrganization = temporal.NewSearchAttributeKeyKeyword("AgentProcessOrganization")
	AttrProcess      = temporal.NewSearchAttributeKeyKeyword("AgentProcessName")
	AttrState        = temporal.NewSearchAttributeKeyKeyword("AgentProcessState")
	AttrSteps        = temporal.NewSearchAttributeKeyKeywordList("AgentProcessSteps")
	AttrOverdue      = temporal.NewSearchAttributeKeyBool("AgentProcessOverdue")
)

// SearchAttributes are the names and types to register before a worker starts.
func SearchAttributes() map[string]enumspb.IndexedValueType {
	return map[string]enumspb.IndexedValueType{
		AttrOrganization.GetName(): enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		AttrProcess.GetName():      enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		AttrState.GetName():        enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		AttrSteps.GetName():        enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST,
		AttrOverdue.GetName():      enumspb.INDEXED_VALUE_TYPE_BOOL,
	}
}

// Input is what a run's workflow begins with: Start for a new run, Resume
// after continue-as-new.
type Input struct {
	Start  *run.Start `json:"start,omitempty"`
	Resume *Resume    `json:"resume,omitempty"`
}

// StartRequest is the argument of UpdateStart.
type StartRequest struct {
	RequestID string `json:"requestId"`
	Digest    string `json:"digest"`
}

// Written is what an update returns: what the write did, and the record it left.
type Written struct {
	Outcome run.Outcome `json:"outcome"`
	Record  run.Record  `json:"record"`
}

// Projection is what ActivityProject stores.
type Projection struct {
	Record run.Record `json:"record"`
	// Requests are the writes whose outcome the ledger may not have.
	Requests []run.Request `json:"requests,omitempty"`
}

// Delivery is what ActivityNotify delivers, once the record is stored.
type Delivery struct {
	Projection    Projection         `json:"projection"`
	Notifications []run.Notification `json:"notifications"`
}

// Result is what a run's workflow returns.
type Result struct {
	State   run.State `json:"state"`
	Outcome *string   `json:"outcome,omitempty"`
}

// Refusal turns a refusal of the protocol into an error that Temporal carries
// back to the caller whole.
func Refusal(e *run.Error) error {
	return temporal.NewApplicationErrorWithOptions(e.Message, string(e.Code), temporal.ApplicationErrorOptions{
		NonRetryable: true, Details: []any{*e},
	})
}

// ParseWorkflowID reads what [WorkflowID] made.
func ParseWorkflowID(id string) (org, runID string, ok bool) {
	rest, ok := strings.CutPrefix(id, "agentprocess:")
	if !ok {
		return "", "", false
	}
	i := strings.LastIndexByte(rest, ':')
	if i < 0 {
		return "", "", false
	}
	return rest[:i], rest[i+1:], true
}
