package run

import (
	"slices"
	"time"

	"github.com/agentprocess-temporal/server/process"
)

// Judged is a verdict of the run, and what a person then decided about what it
// was given on. From these it is measured how far a check is to be trusted.
type Judged struct {
	Step     string `json:"step"`
	Verdict  Result `json:"verdict"`
	Advisory bool   `json:"advisory,omitempty"`
	Model    string `json:"model,omitempty"`
	// Results are in the order of the questions.
	Results []Result  `json:"results"`
	At      time.Time `json:"at"`
	// Decided is empty while nobody has decided.
	Decided   Judgement `json:"decided,omitempty"`
	DecidedAt time.Time `json:"decidedAt,omitzero"`
}

// Judgement is what a person made of a submission that was checked.
type Judgement string

// The judgements. By accepted ones the person stood for the submission as it was.
const (
	JudgedApproved  Judgement = "approved"
	JudgedRejected  Judgement = "rejected"
	JudgedReturned  Judgement = "returned"
	JudgedCompleted Judgement = "completed"
	// JudgedReplaced is a completion with another output than the one held.
	JudgedReplaced Judgement = "replaced"
	JudgedFailed   Judgement = "failed"
)

// keptJudged bounds how many verdicts a run remembers, the newest; keptResults how
// many results these have together, unless the newest alone has more.
const (
	keptJudged  = 50
	keptResults = 1000
)

// judged remembers a verdict.
func (r *Run) judged(step string, v *Verdict) {
	j := Judged{Step: step, Verdict: v.Verdict, Advisory: v.Advisory, Model: v.Model, At: v.At}
	for i := range v.Questions {
		j.Results = append(j.Results, v.Questions[i].Result)
	}
	r.Judged = append(r.Judged, j)
	over := len(r.Judged) - keptJudged
	results := 0
	for i := len(r.Judged) - 1; i >= max(over, 0); i-- {
		if results += len(r.Judged[i].Results); results > keptResults {
			over = min(i+1, len(r.Judged)-1)
			break
		}
	}
	if over > 0 {
		r.Judged = slices.Delete(r.Judged, 0, over)
	}
}

// decided notes what a person decided about the submission that v is about. The
// first decision counts.
func (r *Run) decided(step string, v *Verdict, what Judgement, at time.Time) {
	if v == nil {
		return
	}
	for i := len(r.Judged) - 1; i >= 0; i-- {
		j := &r.Judged[i]
		if j.Step == step && j.At.Equal(v.At) {
			if j.Decided == "" {
				j.Decided, j.DecidedAt = what, at
			}
			return
		}
	}
}

// undecided are the places, in Judged, of the verdicts on current completions
// that led to an approval.
func (r *Run) undecided(approval string) []int {
	var found []int
	for i := range r.Judged {
		j := &r.Judged[i]
		if j.Decided == "" && r.standing(j) && r.layout().leads(j.Step, approval) {
			found = append(found, i)
		}
	}
	return found
}

// standing reports whether a verdict is the one on its step's current completion.
func (r *Run) standing(j *Judged) bool {
	c := r.Data.current(j.Step)
	return c != nil && c.Check != nil && c.Check.At.Equal(j.At)
}

// approved notes that an approval was decided for what led to it.
func (r *Run) approved(approval string, at time.Time) {
	for _, i := range r.undecided(approval) {
		r.Judged[i].Decided, r.Judged[i].DecidedAt = JudgedApproved, at
	}
}

// rejected notes that it was decided against, by going back from there or by
// ending the run. Where the run goes back to a later step, a submission stands,
// and nothing is decided about it.
func (r *Run) rejected(undecided []int, at time.Time) {
	for _, i := range undecided {
		if r.Over() || !r.standing(&r.Judged[i]) {
			r.Judged[i].Decided, r.Judged[i].DecidedAt = JudgedRejected, at
		}
	}
}

// leads reports whether a run can come from one step to another without going back.
func (l *layout) leads(from, to string) bool {
	seen := map[string]bool{}
	for open := []string{from}; len(open) > 0; open = open[1:] {
		step := &l.process.Steps[l.at[open[0]]]
		for _, id := range append(successors(step), step.Branches...) {
			if id == process.Join && l.fork[step.ID] != nil {
				id = l.fork[step.ID].Next
			}
			if id == to {
				return true
			}
			if !seen[id] {
				seen[id] = true
				open = append(open, id)
			}
		}
	}
	return false
}
