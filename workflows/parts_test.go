package workflows_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

// argument is what Temporal takes of one argument, in bytes.
const argument = 2 << 20

// longID is a request id that takes as much as one may, as JSON.
func longID(i int) string { return fmt.Sprintf("%04d%s", i, strings.Repeat("<", 124)) }

// renewals are so many writes within half a minute, from the first minute on.
func (s *stage) renewals(writes int) {
	var a *answer
	var renew func(i int)
	renew = func(i int) {
		if i == writes {
			return
		}
		require.NoError(s.t, a.err)
		a = s.send(agent, longID(i), run.Command{Renew: &run.RenewClaim{Holder: a.written.Outcome.Claim.Holder, Lease: 7200, Key: "k"}})
		s.at(10*time.Millisecond, func() { renew(i + 1) })
	}
	s.at(time.Minute-time.Second, func() { a = s.send(agent, "claim", claim("first", 2*time.Hour)) })
	s.at(time.Minute, func() { renew(0) })
}

func TestWritesThatComeInWhileNothingCanBeStoredAreStoredInParts(t *testing.T) {
	const writes = 2000
	s := newStage(t)
	seen, largest := map[string]bool{}, 0
	from := epoch.Add(30 * time.Minute)
	s.project = func(p workflows.Projection) error {
		b, err := json.Marshal(p)
		if err != nil {
			return err
		}
		largest = max(largest, len(b))
		if s.Now().Before(from) {
			return errDown
		}
		for _, q := range p.Requests {
			seen[q.ID] = true
		}
		return nil
	}
	s.at(0, func() { s.open() })
	s.renewals(writes)
	s.at(time.Hour, func() { s.send(boss, "over", cancel()) })
	require.NoError(t, s.play(input(t, run.Live, twoSteps)))
	require.Less(t, largest, argument)
	require.Len(t, seen, writes+3)
}
