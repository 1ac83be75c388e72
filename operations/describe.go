package operations

import (
	"context"
	"slices"

	"github.com/agentprocess-temporal/server/identity"
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

func (s *Service) describe(context.Context, identity.Caller, struct{}) (any, error) {
	return description{
		Protocol: "agentprocess", Version: "core-2",
		Profiles:       append([]string{}, s.Profiles...),
		LeaseSeconds:   int64(s.Lease.Seconds()),
		Person:         map[string]string{"format": "email"},
		Tools:          slices.Clone(schemas.Tools()),
		MaxUploadBytes: s.MaxUploadBytes,
		Limits: limits{
			RunDataBytes: s.RunDataBytes, CheckPass: 0.9, CheckConfidence: 0.8, CheckStateBytes: 64 << 10,
		},
	}, nil
}
