package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/agentprocess-temporal/server/evaluator"
	"github.com/agentprocess-temporal/server/internal/faults/faultpoint"
	"github.com/agentprocess-temporal/server/run"
)

const (
	// heartbeatEvery tells the run that somebody is at its check.
	heartbeatEvery = 500 * time.Millisecond
	// errorType is how a check that was not answered is called in histories.
	errorType = "EvaluatorError"
)

// Evaluate has the questions of a step's check answered about a submission. It
// answers all of them or fails; what is not an answer is never a verdict.
func (a *Activities) Evaluate(ctx context.Context, q run.CheckRequest) (run.Answers, error) {
	if a.Evaluator == nil {
		return run.Answers{}, temporal.NewNonRetryableApplicationError("no evaluator is configured", errorType, nil)
	}
	p, err := a.Service.Process(ctx, q.Org, q.Process, q.Version)
	if err != nil {
		return run.Answers{}, err
	}
	step := p.Step(q.StepID)
	if step == nil {
		return run.Answers{}, temporal.NewNonRetryableApplicationError("the process has no such step", errorType, nil)
	}
	ctx, stop := beating(ctx)
	defer stop()
	answers, err := evaluator.Ask(ctx, a.Evaluator, evaluator.Material{
		Instructions: step.Text, Body: p.Body, Data: q.Data,
		Output: q.Output, Summary: q.Summary, Evidence: q.Evidence,
	}, step.Check)
	var known *evaluator.Error
	switch {
	case err == nil:
		faultpoint.Here(faultpoint.Checking)
		return answers, nil
	case errors.As(err, &known):
		// Whatever it was, it is tried once more (check profile §3).
		return run.Answers{}, temporal.NewApplicationError(known.Reason, errorType)
	}
	return run.Answers{}, temporal.NewApplicationError("the evaluator failed", errorType)
}

// beating heartbeats until it is stopped.
func beating(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		tick := time.NewTicker(heartbeatEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return ctx, stop
}
