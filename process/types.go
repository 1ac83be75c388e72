package process

import (
	"encoding/json"
	"time"
)

// Process is one valid PROCESS.md (spec §2), with every default resolved. It
// marshals to the JSON that a run carries for life, so its shape is frozen:
// add fields, never change the meaning of one.
type Process struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Inputs      Fields    `json:"inputs,omitempty"`
	Requires    *Requires `json:"requires,omitempty"`
	Steps       []Step    `json:"steps"`
	// Body is everything after the line that closes the frontmatter, unchanged.
	Body string `json:"body"`
	// Hash is the content hash of spec §6 rule 5, in lower-case hex.
	Hash string `json:"hash"`

	// at holds positions in the file, by step id and key. They do not survive
	// JSON, and nothing that a run depends on reads them.
	at map[string]at
}

// Requires names what the organization must have outside the server (spec §2.1).
type Requires struct {
	Systems []string `json:"systems"`
}

// Kind is the kind key of a step (spec §2.2).
type Kind string

// The kinds of step.
const (
	Agent     Kind = "agent"
	Task      Kind = "task"
	Approve   Kind = "approve"
	Wait      Kind = "wait"
	WaitUntil Kind = "wait_until"
	WaitFor   Kind = "wait_for"
	Finish    Kind = "finish"
	Parallel  Kind = "parallel"
)

// Join is the reserved `next` that ends a branch (parallel profile §2).
const Join = "join"

// Step is one step (spec §2.2). Fields that its kind does not take are zero.
type Step struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	// Text holds the instructions of an agent or task step, or what an
	// approval is about.
	Text string `json:"text,omitempty"`
	// Wait is the duration of a wait step.
	Wait Duration `json:"wait,omitzero"`
	// Until is the path of a wait_until step.
	Until *Path `json:"until,omitempty"`
	// Event is the name a wait_for step waits for.
	Event string `json:"event,omitempty"`
	// Outcome is what a finish step ends the run with.
	Outcome string `json:"outcome,omitempty"`
	// Branches are the branch entries of a parallel step, in file order.
	Branches []string `json:"branches,omitempty"`

	Output   Fields         `json:"output,omitempty"`
	Evidence []EvidenceKind `json:"evidence,omitempty"`
	// Next is the one step that follows, the default resolved; Join at the
	// end of a branch; empty on a finish and where Routes are given.
	Next string `json:"next,omitempty"`
	// Routes are the choices where `next` is a list, else nil.
	Routes    []Route   `json:"routes,omitempty"`
	Person    *Assignee `json:"person,omitempty"`
	OnReject  string    `json:"onReject,omitempty"`
	Due       Duration  `json:"due,omitzero"`
	Timeout   Duration  `json:"timeout,omitzero"`
	OnTimeout string    `json:"onTimeout,omitempty"`

	// Check holds the questions of the check profile, Advisory its mode.
	Check    []Question `json:"check,omitempty"`
	Advisory bool       `json:"advisory,omitempty"`
}

// Route is one choice of a `next` list. It marshals as claim.step.next shows it.
type Route struct {
	To   string `json:"to"`
	When string `json:"when,omitempty"`
}

// EvidenceKind is `file` or `link` (spec §5).
type EvidenceKind string

// The kinds of evidence.
const (
	File EvidenceKind = "file"
	Link EvidenceKind = "link"
)

// Assignee is the value of `person`: exactly one of its fields is set.
type Assignee struct {
	Role      string `json:"role,omitempty"`
	Initiator bool   `json:"initiator,omitempty"`
	Path      *Path  `json:"path,omitempty"`
}

// Path points into run data: `inputs.<field>` (Step empty) or
// `steps.<id>.output.<field>`.
type Path struct {
	Step  string `json:"step,omitempty"`
	Field string `json:"field"`
}

// String is the path as a process file writes it.
func (p Path) String() string {
	if p.Step == "" {
		return "inputs." + p.Field
	}
	return "steps." + p.Step + ".output." + p.Field
}

// Duration is a whole number of minutes (spec §2.4); zero means not given.
type Duration struct {
	Minutes int64
}

// After is the moment d after t. It does not overflow where time.Duration does.
func (d Duration) After(t time.Time) time.Time {
	return time.Unix(t.Unix()+d.Minutes*60, int64(t.Nanosecond())).UTC()
}

// IsZero reports whether the duration was not given.
func (d Duration) IsZero() bool { return d.Minutes == 0 }

// MarshalJSON writes the number of minutes.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.Minutes) }

// UnmarshalJSON reads the number of minutes.
func (d *Duration) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &d.Minutes) }

// Question is one question of a check (check profile §2). Exactly one of the
// three kinds: OneOf set is a choice, Levels set is a rubric, neither is yes/no.
type Question struct {
	Ask string `json:"ask"`
	// PassAt and FailBelow are the yes/no thresholds; nil means the server's default.
	PassAt    *float64 `json:"passAt,omitempty"`
	FailBelow *float64 `json:"failBelow,omitempty"`
	// OneOf are the choices in file order, PassNames and UnsureNames among them.
	OneOf       []Choice `json:"oneOf,omitempty"`
	PassNames   []string `json:"passNames,omitempty"`
	UnsureNames []string `json:"unsureNames,omitempty"`
	// Levels are the rubric's levels, worst first; PassLevel is 0-based.
	Levels    []string `json:"levels,omitempty"`
	PassLevel int      `json:"passLevel,omitempty"`
	// Confidence is the floor of a choice or rubric; nil means the server's default.
	Confidence *float64 `json:"confidence,omitempty"`
}

// Choice is one answer of a choice question.
type Choice struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Step returns the step with this id, or nil.
func (p *Process) Step(id string) *Step {
	for i := range p.Steps {
		if p.Steps[i].ID == id {
			return &p.Steps[i]
		}
	}
	return nil
}

// ValidID reports whether s can be the id of a step or the name of an event
// (spec §2.2, §3.6).
func ValidID(s string) bool { return idPattern.MatchString(s) }
