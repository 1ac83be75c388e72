package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/evaluator/openai/openaitest"
	"github.com/agentprocess-temporal/server/internal/mcpclient"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// inFlight is how many updates Temporal carries out at once for one workflow,
// and so how many answers one workflow task may have to hold.
const inFlight = 10

// wide is a process of as many agents' branches as one task may have updates, and
// of so many people's besides, who are all asked at once.
func wide(work string, people int) string {
	var ids []string
	var branches strings.Builder
	for i := range inFlight {
		ids = append(ids, fmt.Sprint("b", i))
		fmt.Fprintf(&branches, "  - { id: b%d, agent: Do it., %snext: join }\n", i, work)
	}
	for i := range people {
		ids = append(ids, fmt.Sprint("p", i))
		fmt.Fprintf(&branches, "  - { id: p%d, person: inputs.who, approve: Agree., next: join }\n", i)
	}
	return "---\nname: wide\ndescription: d.\ninputs: { text: string, who: { type: person, optional: true } }\nsteps:\n" +
		"  - { id: fork, parallel: [" + strings.Join(ids, ", ") + "], next: end }\n" + branches.String() +
		"  - { id: end, finish: done }\n---\n"
}

// longest is such a process with as many people as may be published.
func longest(t *testing.T, work string) string {
	t.Helper()
	n := sort.Search(2000, func(n int) bool {
		p, issues := process.Parse([]byte(wide(work, n+1)))
		require.Empty(t, issues)
		return run.Share(p) > operations.MaxRecordShare
	})
	return wide(work, n)
}

// answered makes a call, and makes it again for as long as it is to be made again: so
// much is written here that the run now and then goes on in a new history.
func answered(c *mcpclient.Client, tool string, args Args) (r mcpclient.Result, err error) {
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
		r, err = c.Call(context.Background(), tool, args)
		if err != nil || r.OK || r.Error.Code != run.Retry {
			return r, err
		}
	}
	return r, err
}

// atOnce has every branch claimed, renewed and submitted, each time all at once.
func atOnce(t *testing.T, s *Server, id string) {
	t.Helper()
	tokens := claimAll(t, s, id)
	for round := range 3 {
		for i, r := range crowd(t, s, inFlight, func(c *mcpclient.Client, i int) (mcpclient.Result, error) {
			return answered(c, "renew", Args{"token": tokens[i], "progress": fmt.Sprint(round), "requestId": ID()})
		}) {
			require.True(t, r.OK, "renew: %v", r.Error)
			tokens[i] = tokenIn(t, r)
		}
	}
	for _, r := range crowd(t, s, inFlight, func(c *mcpclient.Client, i int) (mcpclient.Result, error) {
		return answered(c, "submit", Args{"token": tokens[i], "output": Args{}, "summary": "x", "requestId": ID()})
	}) {
		require.True(t, r.OK, "submit: %v", r.Error)
	}
}

// claimAll has every branch claimed at once.
func claimAll(t *testing.T, s *Server, id string) []string {
	t.Helper()
	tokens := make([]string, inFlight)
	claims := crowd(t, s, inFlight, func(c *mcpclient.Client, i int) (mcpclient.Result, error) {
		return answered(c, "claim", Args{"runId": id, "stepId": fmt.Sprintf("b%d", i), "requestId": ID()})
	})
	for i, r := range claims {
		require.True(t, r.OK, "claim: %v", r.Error)
		tokens[i] = tokenIn(t, r)
	}
	return tokens
}

func tokenIn(t *testing.T, r mcpclient.Result) string {
	t.Helper()
	var got claimed
	require.NoError(t, json.Unmarshal(r.Data, &got))
	require.NotEmpty(t, got.Token)
	return got.Token
}

func TestTenWritesAtOnceOnARunAtTheHighestCapFitIntoOneTask(t *testing.T) {
	s := Start(t, func(o *server.Options) { o.RunDataBytes = operations.MaxRunDataBytes })
	s.Publish(wide("", 0), nil)
	for name, text := range map[string]string{
		"plain text":                   strings.Repeat("x", operations.MaxRunDataBytes-16<<10),
		"text that JSON writes longer": strings.Repeat("<", (operations.MaxRunDataBytes-16<<10)/6),
	} {
		t.Run(name, func(t *testing.T) {
			id := Must[run.View](s, Mira, "start_run", Args{"process": "wide", "inputs": Args{"text": text}, "requestId": ID()}).Run.ID
			atOnce(t, s, id)
			require.Equal(t, run.Ended, Must[run.View](s, Mira, "get_run", Args{"runId": id}).Run.State)
		})
	}
}

// who is the longest address there is.
var who = strings.Repeat("a", 64) + "@" + strings.Repeat(strings.Repeat("b", 60)+".", 3) + "com"

func TestTenWritesAtOnceOnARunOfTheLongestProcessAreAnswered(t *testing.T) {
	s := Start(t, func(o *server.Options) { o.RunDataBytes, o.Trust.People.Open = operations.MaxRunDataBytes, true })
	s.Publish(longest(t, ""), nil)
	full := strings.Repeat("x", operations.MaxRunDataBytes-24<<10)
	start := func() string {
		return Must[run.View](s, Mira, "start_run", Args{"process": "wide", "inputs": Args{"text": full, "who": who}, "requestId": ID()}).Run.ID
	}
	t.Run("that are taken", func(t *testing.T) {
		id := start()
		atOnce(t, s, id)
		var size int
		require.NoError(t, s.Pool().QueryRow(t.Context(), `SELECT length(record) FROM runs WHERE run_id = $1`, id).Scan(&size))
		t.Log("a record of", size, "bytes")
		require.Greater(t, size, 300<<10, "a record of which ten do not fit into one task")
		require.Less(t, size, operations.MaxRunDataBytes+operations.MaxRecordShare)
		Must[run.View](s, Boss, "cancel", Args{"runId": id, "reason": "x", "requestId": ID()})
	})
	t.Run("that are as long themselves, and are not accepted", func(t *testing.T) {
		id := start()
		tokens := claimAll(t, s, id)
		for range 3 {
			for _, r := range crowd(t, s, inFlight, func(c *mcpclient.Client, i int) (mcpclient.Result, error) {
				return answered(c, "submit", Args{"token": tokens[i], "output": Args{"unknown": full}, "summary": "x", "requestId": ID()})
			}) {
				require.False(t, r.OK)
				require.Equal(t, run.NotAccepted, r.Error.Code, "%v", r.Error)
			}
		}
		for _, r := range crowd(t, s, inFlight, func(c *mcpclient.Client, _ int) (mcpclient.Result, error) {
			return answered(c, "send_event", Args{"runId": id, "name": "x", "data": Args{"text": full}, "requestId": ID()})
		}) {
			require.False(t, r.OK)
			require.Equal(t, run.Invalid, r.Error.Code, "%v", r.Error)
		}
		Must[run.View](s, Boss, "cancel", Args{"runId": id, "reason": "x", "requestId": ID()})
	})
}

func TestTenChecksAnsweredAtOnceOnARunOfTheLongestProcess(t *testing.T) {
	s := startChecking(t, func(o *server.Options) { o.RunDataBytes, o.Trust.People.Open = operations.MaxRunDataBytes, true })
	var asked sync.WaitGroup
	asked.Add(inFlight)
	yes := answersOf(1, "", 0, 0, 0)
	s.evaluator.Answer(func(c openaitest.Call) openaitest.Reply {
		asked.Done()
		asked.Wait() // for all of them
		return yes(c)
	})
	s.Publish(longest(t, "check: Is it done?, "), nil)
	id := s.begin("wide", Args{"text": strings.Repeat("x", operations.MaxRunDataBytes-24<<10), "who": who})
	tokens := claimAll(t, s.Server, id)
	for _, r := range crowd(t, s.Server, inFlight, func(c *mcpclient.Client, i int) (mcpclient.Result, error) {
		return answered(c, "submit", Args{"token": tokens[i], "output": Args{}, "summary": "x", "requestId": ID()})
	}) {
		require.True(t, r.OK, "submit: %v", r.Error)
	}
	Must[run.View](s.Server, Boss, "cancel", Args{"runId": id, "reason": "x", "requestId": ID()})
}
