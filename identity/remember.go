package identity

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

// rememberedAtOnce bounds what is remembered: further credentials are verified
// every time until the next turn.
const rememberedAtOnce = 10_000

// Remember has next verify a credential once in so long at most, whoever sends
// it how often: callers send the same one with every call, and a signature costs
// more than the rest of reading a request. Refusals are not remembered, and no
// proof is used past its end. A key or a client that is no longer trusted may go
// on being so for that time, so keep it short: a second is plenty.
func Remember(next Verifier, lasts time.Duration) Verifier {
	return &rememberer{next: next, lasts: lasts, now: time.Now}
}

type rememberer struct {
	next  Verifier
	lasts time.Duration
	now   func() time.Time

	mu     sync.Mutex
	since  time.Time
	proofs map[[sha256.Size]byte]proof
}

type proof struct {
	caller Caller
	until  time.Time
}

// Verify implements Verifier.
func (r *rememberer) Verify(ctx context.Context, bearer string) (Caller, time.Time, error) {
	key, now := sha256.Sum256([]byte(bearer)), r.now()
	if p, ok := r.known(key, now); ok {
		return p.caller.clone(), p.until, nil
	}
	caller, until, err := r.next.Verify(ctx, bearer)
	if err == nil {
		r.add(key, proof{caller.clone(), until}, now)
	}
	return caller, until, err
}

func (r *rememberer) known(key [sha256.Size]byte, now time.Time) (proof, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if age := now.Sub(r.since); age < 0 || age >= r.lasts {
		r.since, r.proofs = now, map[[sha256.Size]byte]proof{}
	}
	p, ok := r.proofs[key]
	return p, ok && now.Before(p.until)
}

// add remembers what was found out at a moment, unless that turn is over.
func (r *rememberer) add(key [sha256.Size]byte, p proof, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !at.Before(r.since) && len(r.proofs) < rememberedAtOnce {
		r.proofs[key] = p
	}
}
