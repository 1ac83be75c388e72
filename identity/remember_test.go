package identity

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// counting proves what it is told to, and counts.
type counting struct {
	asked int
	err   error
	until time.Time
}

func (c *counting) Verify(_ context.Context, bearer string) (Caller, time.Time, error) {
	c.asked++
	return Caller{Org: "acme", Subject: bearer, Kind: Person, Groups: []string{"finance"}}, c.until, c.err
}

func remembering(next Verifier) (r *rememberer, clock *time.Time) {
	now := time.Date(2026, 10, 6, 12, 0, 0, 0, time.UTC)
	r = Remember(next, time.Second).(*rememberer)
	r.now = func() time.Time { return now }
	return r, &now
}

func TestACredentialIsVerifiedOnceInASecond(t *testing.T) {
	next := &counting{until: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
	r, now := remembering(next)
	for range 3 {
		c, until, err := r.Verify(t.Context(), "mira")
		require.NoError(t, err)
		require.Equal(t, "mira", c.Subject)
		require.Equal(t, next.until, until)
		c.Groups[0] = "changed by who got it"
	}
	require.Equal(t, 1, next.asked)
	c, _, err := r.Verify(t.Context(), "omar")
	require.NoError(t, err)
	require.Equal(t, Caller{Org: "acme", Subject: "omar", Kind: Person, Groups: []string{"finance"}}, c)
	require.Equal(t, 2, next.asked, "another credential")

	*now = now.Add(time.Second)
	next.err = ErrInvalidToken
	_, _, err = r.Verify(t.Context(), "mira")
	require.ErrorIs(t, err, ErrInvalidToken, "revoked meanwhile")
	require.Equal(t, 3, next.asked)
}

func TestARefusalIsNotRemembered(t *testing.T) {
	next := &counting{err: errors.New("the keys cannot be fetched"), until: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
	r, _ := remembering(next)
	_, _, err := r.Verify(t.Context(), "mira")
	require.Error(t, err)
	next.err = nil
	_, _, err = r.Verify(t.Context(), "mira")
	require.NoError(t, err)
}

func TestAProofIsNotUsedPastItsEnd(t *testing.T) {
	r, now := remembering(nil)
	next := &counting{until: now.Add(300 * time.Millisecond)}
	r.next = next
	_, _, err := r.Verify(t.Context(), "mira")
	require.NoError(t, err)
	*now = now.Add(300 * time.Millisecond)
	next.err = ErrInvalidToken
	_, _, err = r.Verify(t.Context(), "mira")
	require.ErrorIs(t, err, ErrInvalidToken)
}
