package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

// BenchmarkClaimSubmit is one claim and its submission, each checked on the
// side of the front end and again by the run, on records of two sizes.
func BenchmarkClaimSubmit(b *testing.B) {
	for _, size := range []int{0, 127 << 10} {
		base := begin(b, `
inputs: { text: string }
steps:
  - { id: first, agent: A., output: { text: string } }
  - { id: second, agent: B., output: { text: string } }
  - { id: approve, person: finance, approve: C? }
  - { id: done, finish: ok }`, inputs(`{"text":"`+strings.Repeat("x", size)+`"}`))
		base.work(ada, "first", run.Submission{Output: json.RawMessage(`{"text":"x"}`)})
		b.Run(fmt.Sprintf("record=%d", len(asJSON(b, base.r.Record))), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r := base.r.Clone()
				c := claimOf("second")
				c.By, c.RequestID, c.NotAfter = ada, "c", epoch.Add(time.Minute)
				require.Nil(b, r.Check(c, epoch))
				o, err := r.Execute(c, epoch)
				require.Nil(b, err)
				s := submitOf(*o.Claim, run.Submission{Output: json.RawMessage(`{"text":"y"}`)})
				s.By, s.RequestID, s.NotAfter = ada, "s", epoch.Add(time.Minute)
				require.Nil(b, r.Check(s, epoch))
				o, err = r.Execute(s, epoch)
				require.Nil(b, err)
				require.Nil(b, o.Refusal)
			}
		})
	}
}
