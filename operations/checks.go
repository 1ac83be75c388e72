package operations

import (
	"time"

	"github.com/agentprocess-temporal/server/workflows"
)

// DefaultCheckTry and MaxCheckTry bound one try of the evaluator. Within the
// default, a caller has a check that fails twice answered before its call ends.
const (
	DefaultCheckTry = workflows.DefaultCheckTry
	MaxCheckTry     = 2 * time.Minute
)

// checkSeconds is how long a write gives the evaluator for one try. A server
// without one gives none: its activity says so at once.
func (s *Service) checkSeconds() int64 { return int64(s.CheckTry.Seconds()) }
