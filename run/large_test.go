package run_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

// A workflow task has a second; a process file has a mebibyte.
const patience = 5 * time.Second

func TestAProcessOfVeryManySteps(t *testing.T) {
	const n = 5000
	past := inputs(`{"when":"2020-01-01T00:00:00Z"}`)
	head := "inputs: { when: datetime }\nsteps:\n"
	t.Run("waits that are past, one after another, pass in one write", func(t *testing.T) {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "  - { id: s%d, wait_until: inputs.when }\n", i)
		}
		s := startOf(parse(t, head+b.String()+"  - { id: done, finish: ok }"), past)
		began := time.Now()
		r := run.New(s, epoch)
		require.Less(t, time.Since(began), patience)
		require.Equal(t, run.Ended, r.State)
	})
	for name, kind := range map[string]string{
		"branches that pass at once":                "wait_until: inputs.when",
		"branches whose waits end at the same time": "wait: 1m",
	} {
		t.Run(name+" join", func(t *testing.T) {
			ids := make([]string, n)
			var b strings.Builder
			for i := range n {
				ids[i] = fmt.Sprintf("s%d", i)
				fmt.Fprintf(&b, "  - { id: s%d, %s, next: join }\n", i, kind)
			}
			s := startOf(parse(t, head+"  - { id: fork, parallel: ["+strings.Join(ids, ", ")+"], next: done }\n"+b.String()+"  - { id: done, finish: ok }"), past)
			began := time.Now()
			r := run.New(s, epoch)
			r.Advance(epoch.Add(minute))
			require.Less(t, time.Since(began), patience)
			require.Equal(t, run.Ended, r.State)
		})
	}
}
