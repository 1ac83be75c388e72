package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentprocess-temporal/server/internal/canonical"
	"github.com/agentprocess-temporal/server/process"
)

// Data is run data (spec §3.1), in the shape callers see it.
type Data struct {
	Inputs json.RawMessage      `json:"inputs"`
	Steps  map[string]*StepData `json:"steps"`
}

// StepData is what one step recorded: its current completion, if it has one,
// and the earlier ones, oldest first.
type StepData struct {
	*Completion
	History []Completion `json:"history"`
}

// Completion is what one completion of a step recorded (spec §3.1).
type Completion struct {
	Output   json.RawMessage `json:"output,omitempty"`
	Evidence []Evidence      `json:"evidence,omitempty"`
	Summary  string          `json:"summary,omitempty"`
	Next     string          `json:"next,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Decision Decision        `json:"decision,omitempty"`
	Note     string          `json:"note,omitempty"`
	Check    *Verdict        `json:"check,omitempty"`
	By       string          `json:"by,omitempty"`
	At       time.Time       `json:"at,omitzero"`
}

// Evidence is one item of evidence (spec §5). URL is set on its way out only.
type Evidence struct {
	Kind   process.EvidenceKind `json:"kind"`
	Ref    string               `json:"ref"`
	SHA256 string               `json:"sha256,omitempty"`
	URL    string               `json:"url,omitempty"`
}

// current returns a step's current completion, or nil.
func (d *Data) current(id string) *Completion {
	if s := d.Steps[id]; s != nil && s.Completion != nil && !s.Completion.pending() {
		return s.Completion
	}
	return nil
}

// pending reports whether this is no completion yet, but the verdict that waits
// on a person: every completion is somebody's.
func (c *Completion) pending() bool { return c.By == "" }

// await shows the verdict that waits on a person (check profile §3).
func (d *Data) await(id string, v *Verdict) {
	s := d.Steps[id]
	if s == nil {
		s = &StepData{History: []Completion{}}
		d.Steps[id] = s
	}
	s.Completion = &Completion{Check: v}
}

// record makes c the current completion of a step; an earlier one becomes history.
func (d *Data) record(id string, c Completion) {
	d.retire(id)
	s := d.Steps[id]
	if s == nil {
		s = &StepData{History: []Completion{}}
		d.Steps[id] = s
	}
	s.Completion = &c
}

// retire moves a step's current completion, if any, into its history. A verdict
// that waited leaves nothing.
func (d *Data) retire(id string) {
	s := d.Steps[id]
	if s == nil || s.Completion == nil {
		return
	}
	if !s.Completion.pending() {
		s.History = append(s.History, *s.Completion)
	} else if len(s.History) == 0 {
		delete(d.Steps, id)
	}
	s.Completion = nil
}

// value looks a path up. It returns nil where the path holds nothing.
func (d *Data) value(p process.Path) json.RawMessage {
	object := d.Inputs
	if p.Step != "" {
		c := d.current(p.Step)
		if c == nil {
			return nil
		}
		object = c.Output
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return nil
	}
	return fields[p.Field]
}

// snapshot is the hash of run data that decisions carry (spec §3.4): SHA-256
// over its canonical form, with every number exactly as it was given.
func (d *Data) snapshot() string {
	form, err := canonical.JSON(mustMarshal(d))
	if err != nil {
		panic(fmt.Sprintf("run data is not JSON: %v", err)) // every value entered as checked JSON
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:])
}

// Files lists the uploads that the run cites, each once, in a stable order: in
// run data and in submissions that are held.
func (r *Record) Files() []string {
	var refs []string
	seen := map[string]bool{}
	cite := func(e *Evidence) {
		if e.Kind == process.File && !seen[e.Ref] {
			seen[e.Ref] = true
			refs = append(refs, e.Ref)
		}
	}
	r.Data.eachEvidence(cite)
	for i := range r.Steps {
		if e := r.Steps[i].escalation(); e != nil && e.Candidate != nil {
			for j := range e.Candidate.Evidence {
				cite(&e.Candidate.Evidence[j])
			}
		}
	}
	return refs
}

// WithURLs returns a copy whose file evidence carries what url gives for it.
func (d Data) WithURLs(url func(fileID string) string) Data {
	steps := make(map[string]*StepData, len(d.Steps))
	for id, s := range d.Steps {
		c := &StepData{History: make([]Completion, len(s.History))}
		for i, h := range s.History {
			c.History[i] = h.withURLs(url)
		}
		if s.Completion != nil {
			current := s.Completion.withURLs(url)
			c.Completion = &current
		}
		steps[id] = c
	}
	d.Steps = steps
	return d
}

func (c Completion) withURLs(url func(string) string) Completion {
	if len(c.Evidence) == 0 {
		return c
	}
	items := make([]Evidence, len(c.Evidence))
	copy(items, c.Evidence)
	for i := range items {
		if items[i].Kind == process.File {
			items[i].URL = url(items[i].Ref)
		}
	}
	c.Evidence = items
	return c
}

func (d *Data) eachEvidence(visit func(*Evidence)) {
	for _, id := range sortedKeys(d.Steps) {
		s := d.Steps[id]
		for i := range s.History {
			for j := range s.History[i].Evidence {
				visit(&s.History[i].Evidence[j])
			}
		}
		if s.Completion != nil {
			for j := range s.Completion.Evidence {
				visit(&s.Completion.Evidence[j])
			}
		}
	}
}
