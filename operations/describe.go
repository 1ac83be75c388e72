package operations

import (
	"context"
	"slices"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/schemas"
)

type description struct {
	Protocol       string            `json:"protocol"`
	Version        string            `json:"version"`
	Profiles       []string          `json:"profiles"`
	LeaseSeconds   int64             `json:"leaseSeconds"`
	Person         map[string]string `json:"person"`
	Tools          []string          `json:"tools"`
	MaxUploadBytes int               `json:"maxUploadBytes"`
	Limits         limits            `json:"limits"`
}

// limits are always complete, so that a client need not know the profiles; the
// check values are the profile's defaults (check profile §5).
type limits struct {
	RunDataBytes    int      `json:"runDataBytes"`
	CheckPass       float64  `json:"checkPass"`
	CheckFail       *float64 `json:"checkFail"`
	CheckConfidence float64  `json:"checkConfidence"`
	CheckStateBytes int      `json:"checkStateBytes"`
}

// runLimits are those of a run that starts now.
func (s *Service) runLimits() run.Limits {
	return run.Limits{RunDataBytes: s.RunDataBytes, Check: run.DefaultCheckLimits()}
}

func (s *Service) describe(context.Context, identity.Caller, struct{}) (any, error) {
	l := s.runLimits()
	return description{
		Protocol: "agentprocess", Version: "core-2",
		Profiles:       append([]string{}, s.Profiles...),
		LeaseSeconds:   int64(s.Lease.Seconds()),
		Person:         map[string]string{"format": "email"},
		Tools:          slices.Clone(schemas.Tools()),
		MaxUploadBytes: s.MaxUploadBytes,
		Limits: limits{
			RunDataBytes: l.RunDataBytes, CheckPass: l.Check.Pass, CheckFail: l.Check.Fail,
			CheckConfidence: l.Check.Confidence, CheckStateBytes: l.Check.StateBytes,
		},
	}, nil
}
