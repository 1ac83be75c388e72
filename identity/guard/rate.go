package guard

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/agentprocess-temporal/server/identity"
)

// Buckets is a token bucket for each caller. The buckets are of one server
// process: n replicas let n times as much through.
type Buckets struct {
	perSecond rate.Limit
	burst     int
	now       func() time.Time

	mu    sync.Mutex
	of    map[who]*bucket
	swept time.Time
}

// who is a caller, whatever token it came with this time.
type who struct {
	org, subject string
	kind         identity.Kind
}

type bucket struct {
	limiter *rate.Limiter
	used    time.Time
}

// sweepEvery is how often buckets that are full again are forgotten.
const sweepEvery = time.Minute

// NewBuckets makes buckets of burst calls that fill at a rate; nil, which lets
// everything through, for a rate of zero.
func NewBuckets(perSecond float64, burst int) *Buckets {
	if perSecond <= 0 {
		return nil
	}
	return &Buckets{perSecond: rate.Limit(perSecond), burst: max(burst, 1), now: time.Now, of: map[who]*bucket{}}
}

// Take reports whether the caller may call now, and counts the call if so.
func (b *Buckets) Take(c identity.Caller) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.sweep(now)
	id := who{c.Org, c.Subject, c.Kind}
	own := b.of[id]
	if own == nil {
		own = &bucket{limiter: rate.NewLimiter(b.perSecond, b.burst)}
		b.of[id] = own
	}
	own.used = now
	return own.limiter.AllowN(now, 1)
}

// sweep forgets the buckets that a new one would not differ from.
func (b *Buckets) sweep(now time.Time) {
	if now.Sub(b.swept) < sweepEvery {
		return
	}
	b.swept = now
	full := time.Duration(float64(b.burst) / float64(b.perSecond) * float64(time.Second))
	for id, own := range b.of {
		if now.Sub(own.used) > full {
			delete(b.of, id)
		}
	}
}
