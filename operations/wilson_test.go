package operations

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheIntervalIsWilsons(t *testing.T) {
	require.Equal(t, Share{}, wilson(0, 0), "of none there is no share")
	for _, c := range []struct {
		hits, n          int
		share, low, high float64
	}{
		{0, 10, 0, 0, 0.2775},
		{10, 10, 1, 0.7225, 1},
		{1, 1, 1, 0.2065, 1},
		{8, 10, 0.8, 0.4902, 0.9433},
		{90, 100, 0.9, 0.8256, 0.9448},
	} {
		s := wilson(c.hits, c.n)
		require.Equal(t, c.n, s.N)
		require.InDelta(t, c.share, *s.Share, 1e-9)
		require.InDelta(t, c.low, *s.Low, 1e-4)
		require.InDelta(t, c.high, *s.High, 1e-4)
	}
}
