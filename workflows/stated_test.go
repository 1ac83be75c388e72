package workflows_test

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/agentprocess-temporal/server/evaluator"
	"github.com/agentprocess-temporal/server/process"
)

// stated is an evaluator that says what a submission tells it to, which no other
// should: its output's text is the probability, or `wait` for no answer in time,
// or anything else for none.
type stated struct{}

func (stated) YesNo(ctx context.Context, m evaluator.Material, _ string) (evaluator.Probability, error) {
	var output struct{ Text string }
	_ = json.Unmarshal(m.Output, &output)
	if output.Text == "wait" {
		<-ctx.Done()
		return evaluator.Probability{}, ctx.Err()
	}
	p, err := strconv.ParseFloat(output.Text, 64)
	if err != nil {
		return evaluator.Probability{}, &evaluator.Error{Reason: "nothing was stated"}
	}
	return evaluator.Probability{Yes: p, Model: "stated"}, nil
}

func (stated) Choose(context.Context, evaluator.Material, string, []process.Choice) (evaluator.Chosen, error) {
	return evaluator.Chosen{}, &evaluator.Error{Reason: "no choices"}
}

func (stated) Grade(context.Context, evaluator.Material, string, []string) (evaluator.Graded, error) {
	return evaluator.Graded{}, &evaluator.Error{Reason: "no levels"}
}
