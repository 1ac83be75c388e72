package conformance_test

import (
	"context"
	"hash/fnv"
	"testing"

	"github.com/agentprocess-temporal/server/conformance"
	"github.com/agentprocess-temporal/server/evaluator"
	"github.com/agentprocess-temporal/server/internal/server"
	"github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/process"
)

// whimsical answers at random, though always the same, and is never quite sure.
// The fixtures of the check profile are written so that it does not matter.
type whimsical struct{}

func (whimsical) draw(ask string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(ask))
	return int(h.Sum32() % 97)
}

func (w whimsical) YesNo(_ context.Context, _ evaluator.Material, ask string) (evaluator.Probability, error) {
	return evaluator.Probability{Yes: float64(w.draw(ask)) / 100, Model: "whimsical-1"}, nil
}

func (w whimsical) Choose(_ context.Context, _ evaluator.Material, ask string, among []process.Choice) (evaluator.Chosen, error) {
	return evaluator.Chosen{Name: among[w.draw(ask)%len(among)].Name, Confidence: float64(w.draw(ask)) / 100, Model: "whimsical-1"}, nil
}

func (w whimsical) Grade(_ context.Context, _ evaluator.Material, ask string, levels []string) (evaluator.Graded, error) {
	return evaluator.Graded{Level: w.draw(ask) % len(levels), Confidence: float64(w.draw(ask)) / 100, Model: "whimsical-1"}, nil
}

func TestOurServerConformsToTheCheckProfile(t *testing.T) {
	s := servertest.Start(t, func(o *server.Options) { o.Evaluator = whimsical{} })
	pass(t, conform(t, s.URL+"/mcp", configOf(t, s), func(o *conformance.Options) { o.Profile, o.SkipSlow = "check", true }))
}
