package openai

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/agentprocess-temporal/server/evaluator"
)

// leastSaid is the probability that yes and no must have together: where a model
// says something else, theirs mean nothing.
const leastSaid = 0.5

// mostUnseen is how much may be missing from the probabilities given: an endpoint
// that tells the token it chose and no other would make any yes a certain one.
const mostUnseen = 0.1

// errStated sends a question on to be answered with a stated probability.
var errStated = errors.New("no log probabilities of yes and no")

// YesNo implements evaluator.Evaluator.
func (e *Evaluator) YesNo(ctx context.Context, m evaluator.Material, ask string) (evaluator.Probability, error) {
	var refused bool
	if !e.plain.Load() && !e.stated.Load() {
		p, err := e.byTokens(ctx, m, ask)
		if refused = errors.Is(err, errUnsupported); !refused && !errors.Is(err, errStated) {
			return p, err
		}
	}
	p, err := e.byStatement(ctx, m, ask)
	if err == nil && refused && !e.tokens.Load() {
		e.stated.Store(true) // it was the log probabilities that were refused
	}
	return p, err
}

// byTokens reads the probability off the first token.
func (e *Evaluator) byTokens(ctx context.Context, m evaluator.Material, ask string) (p evaluator.Probability, err error) {
	params := sdk.ChatCompletionNewParams{
		Logprobs: param.NewOpt(true), TopLogprobs: param.NewOpt(int64(20)), Temperature: param.NewOpt(0.0),
	}
	if params.Messages, err = messages(m, asked(ask)+"\n\nAnswer with one word, yes or no, and nothing else."); err != nil {
		return p, err
	}
	choice, model, err := e.send(ctx, params, maxTokens(1))
	if err != nil {
		return p, err
	}
	if len(choice.Logprobs.Content) == 0 {
		if !e.tokens.Load() {
			e.stated.Store(true)
		}
		return p, errStated
	}
	p.Model = model
	p.Yes, err = yes(choice.Logprobs.Content[0])
	switch {
	case err == nil:
		e.tokens.Store(true)
	case errors.Is(err, errStated) && !e.tokens.Load() && e.elsewise.Add(1) >= thinks:
		e.stated.Store(true)
	}
	return p, err
}

// yes is the share of yes in what yes and no have together.
func yes(first sdk.ChatCompletionTokenLogprob) (float64, error) {
	seen := map[string]bool{}
	var yes, no, all float64
	add := func(token, logprob string) bool {
		// The library reads what is missing as 0, which would be certainty.
		l, err := number(json.RawMessage(logprob))
		if err != nil || l > 1e-6 {
			return false
		}
		if seen[token] {
			return true
		}
		seen[token] = true
		p := math.Exp(l)
		all += p
		switch strings.ToLower(strings.Trim(token, " \t\r\n\"'.*▁Ġ")) {
		case "yes":
			yes += p
		case "no":
			no += p
		}
		return true
	}
	sound := add(first.Token, first.JSON.Logprob.Raw())
	for _, t := range first.TopLogprobs {
		sound = sound && add(t.Token, t.JSON.Logprob.Raw())
	}
	switch said := yes + no; {
	case !sound, all > 1.01:
		return 0, &evaluator.Error{Reason: "the endpoint's probabilities are not any"}
	case said < leastSaid, 1-all > mostUnseen:
		return 0, errStated
	default:
		return yes / said, nil
	}
}

// byStatement has the model state the probability.
func (e *Evaluator) byStatement(ctx context.Context, m evaluator.Material, ask string) (evaluator.Probability, error) {
	w := word()
	f := form{word: w, name: "yes_no", fields: []field{{"probability", schema{"type": "number"}}}}
	answer, model, err := e.structured(ctx, m, asked(ask)+"\n\n"+
		answerForm(w, `"probability" is the probability, from 0 to 1, that the answer to the question is yes`), f)
	if err != nil {
		return evaluator.Probability{}, err
	}
	p, err := number(answer["probability"])
	return evaluator.Probability{Yes: p, Model: model}, err
}
