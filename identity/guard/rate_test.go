package guard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
)

func TestEachCallerHasABucketOfItsOwn(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	b := NewBuckets(2, 3)
	b.now = func() time.Time { return now }
	a1 := identity.Caller{Org: "acme", Subject: "a1", Kind: identity.Agent, Client: "x"}
	for range 3 {
		require.True(t, b.Take(a1))
	}
	require.False(t, b.Take(a1))
	again := a1
	again.Client = "y"
	require.False(t, b.Take(again), "with another token, too")
	for _, c := range []identity.Caller{{Org: "other", Subject: "a1", Kind: identity.Agent}, {Org: "acme", Subject: "a2", Kind: identity.Agent}} {
		require.True(t, b.Take(c))
	}
	now = now.Add(time.Second)
	require.True(t, b.Take(a1))
	require.True(t, b.Take(a1))
	require.False(t, b.Take(a1))
}

func TestBucketsThatAreFullAgainAreForgotten(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	b := NewBuckets(1, 1)
	b.now = func() time.Time { return now }
	for _, name := range []string{"a", "b", "c"} {
		b.Take(identity.Caller{Subject: name})
	}
	now = now.Add(2 * time.Minute)
	b.Take(identity.Caller{Subject: "d"})
	require.Len(t, b.of, 1)
}

func TestNoRateBoundsNothing(t *testing.T) {
	require.Nil(t, NewBuckets(0, 7))
	for range 1000 {
		require.True(t, NewBuckets(0, 0).Take(identity.Caller{}))
	}
}
