package jwks_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity/idptest"
	"github.com/agentprocess-temporal/server/identity/jwks"
)

// clock is a clock that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func start(t *testing.T) (*idptest.Provider, *jwks.Set, *clock) {
	t.Helper()
	p := idptest.Start(t)
	c := &clock{at: time.Unix(1_800_000_000, 0)}
	return p, jwks.New(p.URL, jwks.Options{Now: c.now}), c
}

func TestKeysAreFoundThroughDiscoveryAndKept(t *testing.T) {
	p, s, c := start(t)
	k := idptest.NewKey(t, "k1", jose.ES256)
	p.Show(k)
	for range 5 {
		got, err := s.Key(t.Context(), "k1")
		require.NoError(t, err)
		require.Equal(t, k.Private.Public(), got.Key)
		c.move(time.Minute)
	}
	require.EqualValues(t, 1, p.Asked.Load())
}

func TestANewKeyIsFetchedWhenATokenNamesItAndTheOldOneStopsThen(t *testing.T) {
	p, s, c := start(t)
	p.Show(idptest.NewKey(t, "k1", jose.ES256))
	_, err := s.Key(t.Context(), "k1")
	require.NoError(t, err)
	p.Show(idptest.NewKey(t, "k2", jose.ES256))
	c.move(time.Minute)
	_, err = s.Key(t.Context(), "k2")
	require.NoError(t, err)
	_, err = s.Key(t.Context(), "k1")
	require.ErrorIs(t, err, jwks.ErrUnknownKey)
}

func TestAWithdrawnKeyStopsWorkingThoughNoOtherIsNamed(t *testing.T) {
	p, s, c := start(t)
	k1, k2 := idptest.NewKey(t, "k1", jose.ES256), idptest.NewKey(t, "k2", jose.ES256)
	p.Show(k1, k2)
	_, err := s.Key(t.Context(), "k1")
	require.NoError(t, err)
	p.Show(k2)
	c.move(15*time.Minute + time.Second)
	_, err = s.Key(t.Context(), "k1")
	require.ErrorIs(t, err, jwks.ErrUnknownKey)
}

func TestInventedKeyIDsDoNotMakeTheIssuerBusy(t *testing.T) {
	p, s, c := start(t)
	p.Show(idptest.NewKey(t, "k1", jose.ES256))
	for i := range 100 {
		_, err := s.Key(t.Context(), fmt.Sprint("made up ", i))
		require.ErrorIs(t, err, jwks.ErrUnknownKey)
	}
	require.EqualValues(t, 1, p.Asked.Load())
	c.move(11 * time.Second)
	_, err := s.Key(t.Context(), "made up")
	require.ErrorIs(t, err, jwks.ErrUnknownKey)
	require.EqualValues(t, 2, p.Asked.Load())
}

func TestManyWhoWaitShareOneFetch(t *testing.T) {
	p, s, _ := start(t)
	p.Show(idptest.NewKey(t, "k1", jose.ES256))
	var wg sync.WaitGroup
	errs := make(chan error, 50)
	for range cap(errs) {
		wg.Go(func() {
			_, err := s.Key(t.Context(), "k1")
			errs <- err
		})
	}
	wg.Wait()
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	require.EqualValues(t, 1, p.Asked.Load())
}

func TestKeysGoOnWorkingWhileTheIssuerIsDownButNotForever(t *testing.T) {
	p, s, c := start(t)
	p.Show(idptest.NewKey(t, "k1", jose.ES256))
	_, err := s.Key(t.Context(), "k1")
	require.NoError(t, err)
	p.Down(true)
	c.move(50 * time.Minute)
	_, err = s.Key(t.Context(), "k1")
	require.NoError(t, err)
	_, err = s.Key(t.Context(), "k2")
	require.Error(t, err)
	require.NotErrorIs(t, err, jwks.ErrUnknownKey, "it may be a new one")
	c.move(11 * time.Minute)
	_, err = s.Key(t.Context(), "k1")
	require.Error(t, err)
	require.NotErrorIs(t, err, jwks.ErrUnknownKey)
	p.Down(false)
	c.move(2 * time.Minute)
	_, err = s.Key(t.Context(), "k1")
	require.NoError(t, err)
}

func TestAnIssuerThatIsDownIsAskedLessAndLessOften(t *testing.T) {
	var asked int
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(down.Close)
	c := &clock{at: time.Unix(1_800_000_000, 0)}
	s := jwks.New(down.URL, jwks.Options{Now: c.now, URI: down.URL})
	for range 3600 {
		_, err := s.Key(t.Context(), "k1")
		require.Error(t, err)
		c.move(time.Second)
	}
	require.Greater(t, asked, 30)
	require.Less(t, asked, 130, "about once a minute")
}

func TestACallerThatLeavesStopsWaitingAndSpoilsNothing(t *testing.T) {
	p, s, _ := start(t)
	p.Show(idptest.NewKey(t, "k1", jose.ES256))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Key(gone, "k1")
	if err != nil { // the fetch may have been faster
		require.ErrorIs(t, err, context.Canceled)
	}
	_, err = s.Key(t.Context(), "k1")
	require.NoError(t, err)
}

func TestOnlyPublicAsymmetricNamedUnambiguousKeysAreUsed(t *testing.T) {
	p, s, _ := start(t)
	good, other := idptest.NewKey(t, "good", jose.RS256), idptest.NewKey(t, "other", jose.ES256)
	p.ShowRaw(
		jose.JSONWebKey{Key: good.Private.Public(), KeyID: "good", Use: "sig"},
		jose.JSONWebKey{Key: []byte("a secret of thirty-two bytes, or so"), KeyID: "shared"},
		jose.JSONWebKey{Key: other.Private.Public(), KeyID: "encrypts", Use: "enc"},
		jose.JSONWebKey{Key: other.Private, KeyID: "private"},
		jose.JSONWebKey{Key: other.Private.Public()},
		jose.JSONWebKey{Key: other.Private.Public(), KeyID: "twice"},
		jose.JSONWebKey{Key: good.Private.Public(), KeyID: "twice"},
	)
	for id, want := range map[string]bool{"good": true, "shared": false, "encrypts": false, "private": false, "": false, "twice": false} {
		_, err := s.Key(t.Context(), id)
		require.Equal(t, want, err == nil, id)
	}
}

func TestADiscoveryDocumentOfAnotherIssuerIsNotBelieved(t *testing.T) {
	p := idptest.Start(t)
	p.Show(idptest.NewKey(t, "k1", jose.ES256))
	s := jwks.New(p.URL+"/", jwks.Options{})
	_, err := s.Key(t.Context(), "k1")
	require.Error(t, err)
	require.NotErrorIs(t, err, jwks.ErrUnknownKey)
}

func TestWhereDocumentsAreFetchedFrom(t *testing.T) {
	for address, want := range map[string]bool{
		"https://login.example.com/keys": true, "http://127.0.0.1:8081/keys": true, "http://localhost/keys": true, "http://[::1]/": true,
		"http://login.example.com/keys": false, "http://10.0.0.1/": false, "file:///etc/passwd": false, "": false, "https://": false,
		"https://user:pass@login.example.com/": false,
	} {
		require.Equal(t, want, jwks.SafeURL(address), address)
	}
}
