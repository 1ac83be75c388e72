package workflows_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

func TestAnswersThatDoNotFitIntoOneTaskAreLeftForTheNext(t *testing.T) {
	s := newStage(t)
	var all []*answer
	events := func(n, task int) func() {
		return func() {
			for range n {
				all = append(all, s.send(boss, fmt.Sprint("e", len(all)), event("news", `{"text":"`+strings.Repeat("x", 100_000)+`"}`)))
			}
			s.SetCurrentHistoryLength(task)
		}
	}
	in := input(t, run.Live, twoSteps)
	in.Start.Limits.RunDataBytes = 10 << 20
	s.at(0, func() { s.open() })
	s.at(time.Minute, events(10, 1001))
	s.at(2*time.Minute, events(1, 1002))
	s.at(3*time.Minute, func() {
		require.NoError(t, all[10].err, "the next task has room")
		taken := 0
		for i, a := range all[:10] {
			if a.err == nil {
				taken++
				require.Less(t, i, 4, "of ten records of 100, 200, 300 kB and so on")
				continue
			}
			require.True(t, workflows.IsCrowded(a.err), "%v", a.err)
		}
		require.Equal(t, 3, taken)
	})
	s.at(4*time.Minute, func() { s.send(boss, "over", cancel()) })
	require.NoError(t, s.play(in))
}
