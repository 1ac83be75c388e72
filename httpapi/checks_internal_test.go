package httpapi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASpanIsWrittenAsADurationOfAProcess(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "30d": 30 * 24 * time.Hour, "12h": 12 * time.Hour, "45m": 45 * time.Minute, "36600d": 36600 * 24 * time.Hour,
	} {
		got, ok := spanOf(text)
		require.True(t, ok, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"0d", "-1d", "1.5d", "30", "d", "30 d", "30D", "1w", "99999d", "9999999999999999999d", "1d2h"} {
		_, ok := spanOf(text)
		require.False(t, ok, text)
	}
}
