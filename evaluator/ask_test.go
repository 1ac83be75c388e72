package evaluator_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/evaluator"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// saying answers every question with what it holds.
type saying struct {
	yes    float64
	name   string
	level  int
	sure   float64
	failed error
}

func (s saying) YesNo(context.Context, evaluator.Material, string) (evaluator.Probability, error) {
	return evaluator.Probability{Yes: s.yes, Model: "m"}, s.failed
}

func (s saying) Choose(context.Context, evaluator.Material, string, []process.Choice) (evaluator.Chosen, error) {
	return evaluator.Chosen{Name: s.name, Confidence: s.sure, Model: "m"}, s.failed
}

func (s saying) Grade(context.Context, evaluator.Material, string, []string) (evaluator.Graded, error) {
	return evaluator.Graded{Level: s.level, Confidence: s.sure, Model: "m"}, s.failed
}

func TestAnAnswerThatIsNoneIsAnErrorWhateverTheEvaluator(t *testing.T) {
	questions := []process.Question{
		{Ask: "Is it so?"},
		{Ask: "What is it?", OneOf: []process.Choice{{Name: "a"}, {Name: "b"}}},
		{Ask: "How good?", Levels: []string{"Bad.", "Good."}},
	}
	sound := saying{yes: 0.123456, name: "a", level: 1, sure: 0.98765}
	got, err := evaluator.Ask(t.Context(), sound, evaluator.Material{}, questions)
	require.NoError(t, err)
	require.Equal(t, "m", got.Model)
	require.InDelta(t, 0.1235, *got.Answers[0].Yes, 0, "to four digits")
	require.Equal(t, run.Answer{Choice: got.Answers[1].Choice, Confidence: got.Answers[1].Confidence}, got.Answers[1])
	require.InDelta(t, 0.9877, *got.Answers[1].Confidence, 0)
	require.Equal(t, 1, *got.Answers[2].Level)

	for name, change := range map[string]func(*saying){
		"a failure":                    func(s *saying) { s.failed = errors.New("down") },
		"a probability above one":      func(s *saying) { s.yes = 1.0001 },
		"a probability below zero":     func(s *saying) { s.yes = -0.1 },
		"a probability that is none":   func(s *saying) { s.yes = math.NaN() },
		"a choice there is not":        func(s *saying) { s.name = "c" },
		"a choice in another case":     func(s *saying) { s.name = "A" },
		"a level above the last":       func(s *saying) { s.level = 2 },
		"a level below the first":      func(s *saying) { s.level = -1 },
		"a confidence above one":       func(s *saying) { s.sure = 2 },
		"a confidence without a bound": func(s *saying) { s.sure = math.Inf(1) },
	} {
		t.Run(name, func(t *testing.T) {
			s := sound
			change(&s)
			got, err := evaluator.Ask(t.Context(), s, evaluator.Material{}, questions)
			require.Error(t, err)
			require.Empty(t, got, "all or nothing")
		})
	}
}
