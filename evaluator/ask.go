package evaluator

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// atOnce bounds the calls of one check that are under way at a time.
const atOnce = 16

// Ask has all questions of a check answered, side by side. All or nothing: a
// check with a question that is not answered has no verdict. Where several models
// answered, all are named.
func Ask(ctx context.Context, e Evaluator, m Material, questions []process.Question) (run.Answers, error) {
	answers := run.Answers{Answers: make([]run.Answer, len(questions))}
	models := make([]string, len(questions))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i := range questions {
		g.Go(func() (err error) {
			answers.Answers[i], models[i], err = one(ctx, e, m, &questions[i])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return run.Answers{}, err
	}
	// An endpoint may have more than one model answer under a name.
	slices.Sort(models)
	answers.Model = strings.Join(slices.Compact(models), ", ")
	return answers, nil
}

func one(ctx context.Context, e Evaluator, m Material, q *process.Question) (run.Answer, string, error) {
	switch run.KindOf(q) {
	case run.Choice:
		a, err := e.Choose(ctx, m, q.Ask, q.OneOf)
		if err != nil {
			return run.Answer{}, "", err
		}
		for _, c := range q.OneOf {
			if c.Name == a.Name {
				confidence, err := share(a.Confidence)
				return run.Answer{Choice: &a.Name, Confidence: confidence}, a.Model, err
			}
		}
		return run.Answer{}, "", &Error{Reason: "the answer is none of the choices"}
	case run.Rubric:
		a, err := e.Grade(ctx, m, q.Ask, q.Levels)
		if err != nil {
			return run.Answer{}, "", err
		}
		if a.Level < 0 || a.Level >= len(q.Levels) {
			return run.Answer{}, "", &Error{Reason: fmt.Sprintf("the answer is level %d of %d", a.Level, len(q.Levels))}
		}
		confidence, err := share(a.Confidence)
		return run.Answer{Level: &a.Level, Confidence: confidence}, a.Model, err
	default:
		a, err := e.YesNo(ctx, m, q.Ask)
		if err != nil {
			return run.Answer{}, "", err
		}
		yes, err := share(a.Yes)
		return run.Answer{Yes: yes}, a.Model, err
	}
}

// digits is how finely a share is told, in parts of one: more than a model knows.
// What decides is what is shown.
const digits = 10000

// share holds a probability or a confidence to what one can be.
func share(f float64) (*float64, error) {
	if math.IsNaN(f) || f < 0 || f > 1 {
		return nil, &Error{Reason: "the answer has a share that is not between 0 and 1"}
	}
	f = math.Round(f*digits) / digits
	return &f, nil
}
