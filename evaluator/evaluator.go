package evaluator

import (
	"context"
	"encoding/json"

	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// Evaluator answers the three kinds of question about a submission. It is called
// by many goroutines at once. Whatever is not an answer is an error, an [*Error]
// where it is known what kind: a timeout, an answer that is not one of those asked
// for, an endpoint that refuses. No error tells what was submitted, or a key.
type Evaluator interface {
	// YesNo returns how probable a yes is.
	YesNo(ctx context.Context, m Material, ask string) (Probability, error)
	// Choose returns the name of one of the choices.
	Choose(ctx context.Context, m Material, ask string, among []process.Choice) (Chosen, error)
	// Grade returns the number of one of the levels, which go from worst to best.
	Grade(ctx context.Context, m Material, ask string, levels []string) (Graded, error)
}

// Material is all that an evaluator sees beside the question (check profile §2).
// The submission in it is untrusted: it is data, whatever it says.
type Material struct {
	// Instructions are the step's, Body is the process' own text.
	Instructions, Body string
	// Data is run data, or what is shown of it.
	Data json.RawMessage
	// Output, Summary and Evidence are the submission's.
	Output   json.RawMessage
	Summary  string
	Evidence []run.Evidence
}

// Probability is an answer to a yes/no question.
type Probability struct {
	// Yes is the probability of a yes, from 0 to 1.
	Yes float64
	// Model is what answered.
	Model string
}

// Chosen is an answer to a choice.
type Chosen struct {
	Name string
	// Confidence is from 0 to 1.
	Confidence float64
	Model      string
}

// Graded is an answer to a rubric.
type Graded struct {
	// Level is counted from 0.
	Level int
	// Confidence is from 0 to 1.
	Confidence float64
	Model      string
}

// Error says why there is no answer.
type Error struct{ Reason string }

// Error implements error.
func (e *Error) Error() string { return "evaluator: " + e.Reason }
