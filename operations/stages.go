package operations

import (
	"context"
	"time"
)

// The stages of a write, in their order; see Service.Observe. Refusals and
// replays leave the path early, and their later stages out.
const (
	// StageLook reads the request and the run, and refuses early.
	StageLook = "look"
	// StageReserve stores the reservation: the first commit.
	StageReserve = "reserve"
	// StageVerify finds out what lies outside the run.
	StageVerify = "verify"
	// StageUpdate has the run carry the write out.
	StageUpdate = "update"
	// StageApply stores the record and the result: the second commit.
	StageApply = "apply"
)

// laps returns a function that reports how long it was since its last call.
func (s *Service) laps(ctx context.Context, tool string) func(stage string) {
	if s.Observe == nil {
		return func(string) {}
	}
	last := time.Now()
	return func(stage string) {
		now := time.Now()
		s.Observe(ctx, tool, stage, now.Sub(last))
		last = now
	}
}
