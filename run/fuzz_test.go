package run_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/run"
)

// FuzzExecute carries out whatever commands the bytes are, one after another:
// nothing panics, and nothing that is always true stops being so.
func FuzzExecute(f *testing.F) {
	for _, seed := range []string{
		``,
		`{}`,
		`null`,
		`{"claim":null,"by":{"id":"a"}}`,
		`{"requestId":"1","by":{"id":"a"},"claim":{"stepId":"work","lease":9223372036854775807}}{"requestId":"2","by":{"id":"a"},"submit":{"stepId":"work","number":1,"submission":{"summary":"x"}}}`,
		`{"requestId":"1","by":{"id":"a"},"claim":{"stepId":"work","lease":-5}}{"requestId":"2","by":{"id":"a"},"renew":{"stepId":"work","number":1,"progress":"x","lease":600}}`,
		`{"requestId":"1","by":{"id":"a"},"claim":{"stepId":"screen","lease":600}}{"requestId":"2","by":{"id":"a"},"submit":{"stepId":"screen","number":1,"submission":{"output":{"cleared":true,"summary":"\ud800"}}}}`,
		`{"requestId":"1","by":{"id":"a"},"event":{"name":"paid","data":{"a":1,"a":2}}}`,
		`{"requestId":"1","by":{"id":"a"},"event":{"name":"","data":null}}{"requestId":"2","by":{"id":"a"},"event":{"name":"paid","data":null}}`,
		`{"requestId":"1","by":{"id":"a"},"event":{"name":"paid","data":` + string(bytes.Repeat([]byte("["), 1500)) + string(bytes.Repeat([]byte("]"), 1500)) + `}}`,
		`{"requestId":"1","by":{"id":"p","person":true,"groups":["g_finance"]},"decide":{"itemId":"w_1","decision":"completed"}}`,
		`{"requestId":"1","by":{"id":"p","person":true,"operator":true},"cancel":{"reason":""}}`,
		`{"requestId":"1","by":{"id":"a"},"submit":{"submission":{"evidence":[{"kind":"x"}],"files":{"x":{}},"refused":[""]}}}`,
		`{"claim":{},"renew":{},"submit":{},"escalate":{},"decide":{},"cancel":{},"event":{}}`,
	} {
		f.Add([]byte(seed), int64(60))
		f.Add([]byte(seed), int64(1<<40))
	}
	processes := []string{everything, screening, rework, waits, byPath, threeKinds, checkedTask}
	f.Fuzz(func(t *testing.T, text []byte, seconds int64) {
		for _, front := range processes {
			r := run.New(startOf(parse(t, front)), epoch)
			now := epoch
			commands := json.NewDecoder(bytes.NewReader(text))
			for range 8 {
				var c run.Command
				if commands.Decode(&c) != nil {
					break
				}
				c.NotAfter = now.Add(time.Minute)
				if c.Decide != nil && c.Decide.Snapshot == "" {
					c.Decide.Snapshot = r.Snapshot
				}
				if c.By.ID == "" {
					c.By.ID = "someone"
				}
				_, _ = c.Tool(), r.DeadlineSummary()
				_, _ = carry(t, r, c, now)
				now = now.Add(time.Duration(seconds % (1 << 30) * int64(time.Second)))
			}
			r.CancelByServer(now, "Enough.")
			checkState(t, r)
		}
	})
}

// FuzzStart begins a run with whatever inputs the bytes are.
func FuzzStart(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{`, `null`, `[]`, `{"when":"9999-12-31T23:59:59-14:00"}`, `{"who":"","when":""}`, `{"when":"0000-01-01T00:00:00Z"}`, `{"who":"\ud800"}`} {
		f.Add([]byte(seed))
	}
	const front = `
inputs: { when: { type: datetime, optional: true }, who: { type: person, optional: true } }
steps:
  - { id: fork, parallel: [a, b], next: done }
  - { id: a, wait_until: inputs.when, next: join }
  - { id: b, person: inputs.who, task: B., next: join }
  - { id: done, finish: ok }`
	f.Fuzz(func(t *testing.T, text []byte) {
		s := startOf(parse(t, front), inputs(string(text)))
		if err := run.CheckStart(s.Process, s.Inputs, s.By, s.Limits, []string{"no@example.com"}); err != nil {
			require.Equal(t, run.Invalid, err.Code)
			require.NotEmpty(t, err.Issues)
			return
		}
		r := run.New(s, epoch)
		checkState(t, r)
		r.Advance(epoch.Add(1000 * time.Hour))
		checkState(t, r)
	})
}
