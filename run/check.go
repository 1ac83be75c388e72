package run

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentprocess-temporal/server/process"
)

// Result is how a question of a check came out, or the check as a whole.
type Result string

// The results. A whole check alone can be an error: the evaluator did not answer.
const (
	Passes      Result = "pass"
	Fails       Result = "fail"
	Unsure      Result = "unsure"
	NotAnswered Result = "error"
)

// QuestionKind is the kind of a question (check profile §2).
type QuestionKind string

// The kinds of question.
const (
	YesNo  QuestionKind = "yes_no"
	Choice QuestionKind = "choice"
	Rubric QuestionKind = "rubric"
)

// KindOf is the kind of a question.
func KindOf(q *process.Question) QuestionKind {
	switch {
	case q.OneOf != nil:
		return Choice
	case q.Levels != nil:
		return Rubric
	}
	return YesNo
}

// Verdict is what came of a check, in the shape callers see it (check profile §3).
// Nothing changes one.
type Verdict struct {
	Verdict   Result     `json:"verdict"`
	Advisory  bool       `json:"advisory"`
	Model     string     `json:"model"`
	Questions []Answered `json:"questions"`
	// Truncated says that the evaluator was not shown all of run data.
	Truncated bool      `json:"truncated,omitempty"`
	At        time.Time `json:"at"`
}

// Answered is a question of a verdict. Answer is a probability, the name of a
// choice or the number of a level; null where nothing was answered.
type Answered struct {
	Ask        string          `json:"ask"`
	Kind       QuestionKind    `json:"kind"`
	Answer     json.RawMessage `json:"answer"`
	Confidence *float64        `json:"confidence,omitempty"`
	Result     Result          `json:"result"`
}

// Answers are what an evaluator said to the questions of a check, in their
// order. None at all means that it did not answer.
type Answers struct {
	Model   string   `json:"model,omitempty"`
	Answers []Answer `json:"answers,omitempty"`
	// Truncated is [CheckRequest.Truncated] of what was asked.
	Truncated bool `json:"truncated,omitempty"`
}

// Answer is the answer to one question: a probability of a yes, a choice or a
// level, the last two with a confidence. Shares are from 0 to 1.
type Answer struct {
	Yes        *float64 `json:"yes,omitempty"`
	Choice     *string  `json:"choice,omitempty"`
	Level      *int     `json:"level,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`
}

// maxModel bounds the name of a model in a verdict, in bytes.
const maxModel = 100

// judge makes a verdict of answers. The worst question decides: unsure outranks
// fail, and fail outranks pass (check profile §3). Answers that do not fit the
// questions are none.
func judge(step *process.Step, l Limits, a Answers, at time.Time) *Verdict {
	v := &Verdict{Verdict: Passes, Advisory: step.Advisory, Model: cutText(a.Model, maxModel), Truncated: a.Truncated, At: at}
	answered := len(a.Answers) == len(step.Check)
	for i := range step.Check {
		answered = answered && fits(&step.Check[i], a.Answers[i])
	}
	for i := range step.Check {
		q := &step.Check[i]
		out := Answered{Ask: q.Ask, Kind: KindOf(q), Answer: json.RawMessage("null"), Result: Unsure}
		if answered {
			out.fill(q, a.Answers[i], l.checks())
		}
		v.Questions = append(v.Questions, out)
		switch {
		case out.Result == Unsure:
			v.Verdict = Unsure
		case out.Result == Fails && v.Verdict == Passes:
			v.Verdict = Fails
		}
	}
	if !answered {
		v.Verdict = NotAnswered
	}
	return v
}

// fits reports whether an answer is one to this question.
func fits(q *process.Question, a Answer) bool {
	switch KindOf(q) {
	case Choice:
		named := func(c process.Choice) bool { return a.Choice != nil && c.Name == *a.Choice }
		return slices.ContainsFunc(q.OneOf, named) && isShare(a.Confidence)
	case Rubric:
		return a.Level != nil && *a.Level >= 0 && *a.Level < len(q.Levels) && isShare(a.Confidence)
	default:
		return isShare(a.Yes)
	}
}

func isShare(f *float64) bool { return f != nil && !math.IsNaN(*f) && *f >= 0 && *f <= 1 }

// fill sets the answer and what it means (check profile §2).
func (o *Answered) fill(q *process.Question, a Answer, l CheckLimits) {
	least := l.Confidence
	if q.Confidence != nil {
		least = *q.Confidence
	}
	switch o.Kind {
	case Choice:
		o.Answer, o.Confidence = mustMarshal(*a.Choice), a.Confidence
		switch {
		case slices.Contains(q.UnsureNames, *a.Choice), *a.Confidence < least:
			o.Result = Unsure
		case slices.Contains(q.PassNames, *a.Choice):
			o.Result = Passes
		default:
			o.Result = Fails
		}
	case Rubric:
		o.Answer, o.Confidence = json.RawMessage(strconv.Itoa(*a.Level)), a.Confidence
		switch {
		case *a.Confidence < least:
			o.Result = Unsure
		case *a.Level >= q.PassLevel:
			o.Result = Passes
		default:
			o.Result = Fails
		}
	default:
		o.Answer = json.RawMessage(decimal(*a.Yes))
		o.Result = yesNo(q, *a.Yes, l)
	}
}

// yesNo is what a probability means. Where fail is above the pass of the server,
// which no publication can know, what is below fail fails all the same.
func yesNo(q *process.Question, p float64, l CheckLimits) Result {
	fail := l.Fail
	if q.FailBelow != nil {
		fail = q.FailBelow
	}
	switch {
	case fail != nil && p < *fail:
		return Fails
	case p >= passAt(q, l):
		return Passes
	case fail == nil:
		return Fails
	}
	return Unsure
}

func passAt(q *process.Question, l CheckLimits) float64 {
	if q.PassAt != nil {
		return *q.PassAt
	}
	return l.Pass
}

// lines are the issues of a verdict: one for each question that did not pass, in
// the words of check profile §3.
func (v *Verdict) lines(step *process.Step, l CheckLimits) []string {
	var out []string
	for i := range v.Questions {
		if a := &v.Questions[i]; a.Result != Passes {
			out = append(out, fmt.Sprintf("check: %s → %s", strings.TrimSpace(a.Ask), a.text(&step.Check[i], l)))
		}
	}
	return out
}

// text is an answer as people read it. A yes/no answer below pass is a no with its
// probability of a yes.
func (o *Answered) text(q *process.Question, l CheckLimits) string {
	confidence := ""
	if o.Confidence != nil {
		confidence = decimal(*o.Confidence)
	}
	switch o.Kind {
	case Choice:
		var name string
		_ = json.Unmarshal(o.Answer, &name) // made by fill
		return fmt.Sprintf("%s (%s)", name, confidence)
	case Rubric:
		n, _ := strconv.Atoi(string(o.Answer)) // made by fill
		return fmt.Sprintf("level %d: %s (%s)", n, strings.TrimSpace(q.Levels[n]), confidence)
	}
	word := "yes"
	if p, _ := strconv.ParseFloat(string(o.Answer), 64); p < passAt(q, l) { // made by fill
		word = "no"
	}
	return fmt.Sprintf("%s (%s)", word, o.Answer)
}

// decimal is the shortest decimal that means f.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// cutText cuts text to at most n bytes, between characters.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// verdictRoom is the most that the verdicts of a step's check take where they are
// kept, in bytes: while an unsure one waits it is in run data and in the work item.
func verdictRoom(step *process.Step) int {
	n := 160 + maxModel
	for i := range step.Check {
		q := &step.Check[i]
		longest := 0
		for _, c := range q.OneOf {
			longest = max(longest, len(mustMarshal(c.Name)))
		}
		n += len(mustMarshal(q.Ask)) + longest + 130
	}
	return 2 * n
}
