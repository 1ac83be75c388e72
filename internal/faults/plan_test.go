package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASeedPlansTheSameFaultsAgain(t *testing.T) {
	require.Equal(t, schedule(7, 10*time.Minute), schedule(7, 10*time.Minute))
	require.NotEqual(t, schedule(7, 10*time.Minute), schedule(8, 10*time.Minute))
}

func TestALongRunHasEveryFault(t *testing.T) {
	for seed := range uint64(5) {
		planned := map[[2]string]bool{}
		for _, f := range schedule(seed, 10*time.Minute) {
			planned[[2]string{f.Kind, f.On}] = true
			require.LessOrEqual(t, f.At+f.For, 10*time.Minute, "%v ends in time", f)
		}
		for _, f := range append(kinds(), first()...) {
			require.True(t, planned[[2]string{f.Kind, f.On}], "seed %d has no %s of %s", seed, f.Kind, f.On)
		}
	}
}

func TestAShortRunHitsEveryPart(t *testing.T) {
	for seed := range uint64(5) {
		on := map[string]bool{}
		for _, f := range schedule(seed, 14*time.Second) {
			on[f.On] = true
		}
		for _, part := range []string{partPostgres, partTemporal, partServer(0)} {
			require.True(t, on[part], "seed %d spares %s", seed, part)
		}
	}
}

func TestTheProcessesAreValid(t *testing.T) {
	_, err := parsed()
	require.NoError(t, err)
}
