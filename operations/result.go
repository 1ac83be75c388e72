package operations

import (
	"context"
	"time"

	"github.com/agentprocess-temporal/server/internal/runtoken"
	"github.com/agentprocess-temporal/server/run"
)

// kept is a result as the ledger keeps it: without what is long and known (the
// body), secret (the token) or short-lived (URLs). A replay adds them again.
type kept struct {
	Process string `json:"process,omitempty"`
	Version int    `json:"version,omitempty"`

	View     *run.View      `json:"view,omitempty"`
	Claim    *run.ClaimView `json:"claim,omitempty"`
	Granted  *run.Granted   `json:"granted,omitempty"`
	RunID    string         `json:"runId,omitempty"`
	Event    *eventResult   `json:"event,omitempty"`
	Uploaded *uploadResult  `json:"uploaded,omitempty"`
}

type eventResult struct {
	ConsumedBy *string `json:"consumedBy"`
}

type renewResult struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// keep makes a result of what a write did and the record it left.
func keep(r *run.Run, tool string, o run.Outcome) *kept {
	k := &kept{Process: r.Record.Process, Version: r.Version, RunID: r.ID, Granted: o.Claim}
	switch tool {
	case "claim":
		view := r.ClaimView(*o.Claim)
		view.Body = ""
		k.Claim = &view
	case "renew":
	case "send_event":
		k.Event = &eventResult{}
		if o.ConsumedBy != "" {
			k.Event.ConsumedBy = &o.ConsumedBy
		}
	default:
		view := r.View()
		view.Body = ""
		k.View = &view
	}
	return k
}

// dress makes of a kept result what the caller gets.
func (s *Service) dress(ctx context.Context, org string, k *kept) (any, error) {
	switch {
	case k.Uploaded != nil:
		return *k.Uploaded, nil
	case k.Event != nil:
		return *k.Event, nil
	case k.Claim == nil && k.Granted != nil:
		token, err := s.token(org, k)
		return renewResult{Token: token, ExpiresAt: k.Granted.ExpiresAt}, err
	}
	p, err := s.version(ctx, org, k.Process, k.Version)
	if err != nil {
		return nil, err
	}
	if k.Claim == nil {
		view := k.View.WithURLs(s.urls(org))
		view.Body = p.Body
		return view, nil
	}
	view := *k.Claim
	view.Body, view.Data = p.Body, view.Data.WithURLs(s.urls(org))
	view.Token, err = s.token(org, k)
	return view, err
}

func (s *Service) token(org string, k *kept) (string, error) {
	return runtoken.Mint(s.Tokens, k.Granted.Key, runtoken.Claims{
		Org: org, RunID: k.RunID, StepID: k.Granted.StepID, Number: k.Granted.Number,
	})
}

// urls makes the links to files that a reader gets now (spec §5).
func (s *Service) urls(org string) func(fileID string) string {
	now := time.Now()
	return func(id string) string { return s.Links.URL(org, id, now) }
}
