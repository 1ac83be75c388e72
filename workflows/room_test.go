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

func TestManyNotificationsAreDeliveredAFewHundredAtOnce(t *testing.T) {
	var ids, branches strings.Builder
	for i := range 500 {
		fmt.Fprintf(&ids, "p%d, ", i)
		fmt.Fprintf(&branches, "  - { id: p%d, person: who, approve: Agree., next: join }\n", i)
	}
	front := "steps:\n  - { id: fork, parallel: [" + strings.TrimSuffix(ids.String(), ", ") + "], next: done }\n" +
		branches.String() + "  - { id: done, finish: done }"
	for name, leaving := range map[string]bool{"one after the other": false, "before the run continues as new": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			var sizes []int
			s.notify = func(d workflows.Delivery) error {
				sizes = append(sizes, len(d.Notifications))
				return nil
			}
			s.at(0, func() { s.open(); s.SetContinueAsNewSuggested(leaving) })
			s.at(time.Minute, func() { s.send(boss, "over", cancel()) })
			err := s.play(input(t, run.Live, front))
			told := map[string]bool{}
			for _, n := range s.told {
				told[n.ID] = true
			}
			for _, n := range sizes {
				require.LessOrEqual(t, n, 200)
			}
			if !leaving {
				require.NoError(t, err)
				require.Len(t, told, 500)
				return
			}
			owed := s.next(err).Resume.Run.Outbox
			require.LessOrEqual(t, len(owed), 200)
			for _, n := range owed {
				told[n.ID] = true
			}
			require.Len(t, told, 500)
		})
	}
}
