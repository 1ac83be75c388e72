package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

func TestDetailsSayWhichStepIsAtWhatWhoHoldsItAndUntilWhen(t *testing.T) {
	in := input(t, run.Live, asksAndWaits)
	r := run.New(*in.Start, epoch)
	c := claim("work", 10*time.Minute)
	c.By, c.RequestID, c.NotAfter = run.Actor{ID: "a|`b`\n[x](y)"}, "c", epoch.Add(time.Minute)
	_, err := r.Execute(c, epoch.Add(time.Second))
	require.Nil(t, err)
	require.Equal(t, "**p** v1 · active\n\n"+
		"| Step | State | Who | Since | Until |\n|---|---|---|---|---|\n"+
		"| both | waiting |  | 2026-10-06 09:00:00Z |  |\n"+
		"| ask | waiting | group g | 2026-10-06 09:00:00Z |  |\n"+
		"| work | claimed | a\\|'b' \\[x](y) | 2026-10-06 09:00:00Z | lease 2026-10-06 09:10:01Z |\n"+
		"| hear | waiting |  | 2026-10-06 09:00:00Z |  |\n", workflows.Details(r))
	r.CancelByServer(epoch.Add(time.Hour), "over")
	require.Contains(t, workflows.Details(r), "**p** v1 · cancelled\n")
}

// A run shows itself after every write, and after every write again on replay.
func BenchmarkDetails(b *testing.B) {
	in := input(b, run.Live, chain(20))
	r := run.New(*in.Start, epoch)
	for b.Loop() {
		workflows.Details(r)
	}
}
