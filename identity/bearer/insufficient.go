package bearer

import (
	"context"
	"net/http"

	"github.com/agentprocess-temporal/server/identity"
)

type guardKey struct{}

// Insufficient sets the challenge of a 403: the credential of a request that a
// [Guard] let through is good, and its caller lacks a right (RFC 6750 §3.1). It
// names the scope that gives the right where there is one, and nothing else of
// what would: groups are for the organization to give, not for a client to ask
// for. It sets nothing in the context of a request that no Guard let through.
func Insufficient(ctx context.Context, w http.ResponseWriter, right identity.Right) {
	g, ok := ctx.Value(guardKey{}).(Guard)
	if !ok {
		return
	}
	var more []string
	if caller, ok := From(ctx); ok && g.Scope != nil {
		if scope := g.Scope(caller, right); scope != "" {
			more = []string{"scope", scope}
		}
	}
	g.challenge(w, insufficientScope, more...)
}
