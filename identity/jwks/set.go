package jwks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"
)

// ErrUnknownKey means that the issuer has no such key, as far as is known.
var ErrUnknownKey = errors.New("the issuer has no key of this id")

// Options adjust a set. The zero value of each field means the default.
type Options struct {
	// URI is where the keys are; empty finds them through discovery.
	URI string
	// Fresh is how long keys are used without asking again (15 minutes); so long
	// a withdrawn key may go on working.
	Fresh time.Duration
	// Stale is how long they are used, since the last good answer, while the
	// issuer cannot be reached (1 hour).
	Stale time.Duration
	// Pause is the least time between two fetches that unknown key ids cause, and
	// the first pause after a failure, which doubles up to MaxPause (10 seconds,
	// 1 minute).
	Pause, MaxPause time.Duration
	// Client sends the requests; nil makes one that gives up after 5 seconds.
	Client *http.Client
	Log    *slog.Logger
	// Now is the clock; nil is the real one.
	Now func() time.Time
}

const fetchWithin = 5 * time.Second

// Set is the keys of one issuer. It is safe for concurrent use; it runs nothing
// in the background.
type Set struct {
	issuer string
	o      Options
	flight singleflight.Group

	mu      sync.Mutex
	uri     string
	keys    map[string]jose.JSONWebKey
	fetched time.Time // the last good answer
	// next is when the issuer may be asked again, failed how many times it failed
	// since it last answered.
	next   time.Time
	failed int
}

// New makes the set of an issuer; nothing is fetched yet. issuer is the exact
// value of `iss`.
func New(issuer string, o Options) *Set {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.Fresh, 15*time.Minute)
	def(&o.Stale, time.Hour)
	def(&o.Pause, 10*time.Second)
	def(&o.MaxPause, time.Minute)
	if o.Client == nil {
		o.Client = newClient(issuer)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Set{issuer: issuer, o: o, uri: o.URI}
}

// Key returns the issuer's key of an id. It wraps [ErrUnknownKey] where there is
// none; any other error means that it could not be found out now.
func (s *Set) Key(ctx context.Context, id string) (jose.JSONWebKey, error) {
	key, state := s.look(id)
	switch state {
	case known:
		return key, nil
	case unknown:
		return key, ErrUnknownKey
	case unavailable:
		return key, fmt.Errorf("the keys of %s are not available now", s.issuer)
	}
	// Shared by all who wait, so that no one of them ends it for the others.
	done := s.flight.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchWithin)
		defer cancel()
		s.refresh(ctx)
		return nil, nil
	})
	select {
	case <-done:
	case <-ctx.Done():
		return key, ctx.Err()
	}
	switch key, state = s.look(id); state {
	case known:
		return key, nil
	case unknown:
		return key, ErrUnknownKey
	default:
		return key, fmt.Errorf("the keys of %s are not available now", s.issuer)
	}
}

// What a look tells.
type state int

const (
	known state = iota
	unknown
	ask
	unavailable
)

func (s *Set) look(id string) (jose.JSONWebKey, state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	mayAsk := !now.Before(s.next)
	age := now.Sub(s.fetched)
	key, ok := s.keys[id]
	switch {
	case s.keys == nil || age > s.o.Stale: // nothing that may be used
		if mayAsk {
			return key, ask
		}
		return jose.JSONWebKey{}, unavailable
	case mayAsk && (!ok || age > s.o.Fresh):
		return key, ask
	case ok:
		return key, known
	case s.failed > 0: // it may be a new one
		return key, unavailable
	default:
		return key, unknown
	}
}

func (s *Set) refresh(ctx context.Context) {
	s.mu.Lock()
	uri := s.uri
	s.mu.Unlock()
	uri, keys, err := s.fetch(ctx, uri)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	if err != nil {
		pause := min(s.o.Pause<<min(s.failed, 10), s.o.MaxPause)
		s.failed++
		// Spread, so that replicas do not ask all at once.
		s.next = now.Add(pause/2 + rand.N(pause/2+1))
		s.uri = s.o.URI
		s.o.Log.WarnContext(ctx, "cannot fetch the keys of a token issuer", "issuer", s.issuer, "failed", s.failed, "error", err)
		return
	}
	s.uri, s.keys, s.fetched, s.failed = uri, keys, now, 0
	s.next = now.Add(s.o.Pause)
}
