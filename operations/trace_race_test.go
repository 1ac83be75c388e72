package operations_test

import (
	"context"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/mcpclient"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

// attempt is one call of a race.
type attempt struct {
	by, tool string
	args     any
}

// race makes all calls at once and returns the results in their order.
func (w world) race(calls ...attempt) []mcpclient.Result {
	w.t.Helper()
	results, errs := make([]mcpclient.Result, len(calls)), make([]error, len(calls))
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for i, c := range calls {
		client := w.s.Client(c.by)
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-begin
			results[i], errs[i] = client.Call(context.Background(), c.tool, c.args)
		})
	}
	ready.Wait()
	close(begin)
	done.Wait()
	for i, err := range errs {
		require.NoError(w.t, err, calls[i].tool)
	}
	return results
}

// winners counts the calls that succeeded; the others must be conflicts with one
// of these issues.
func (w world) winners(results []mcpclient.Result, issues ...string) (won []int) {
	w.t.Helper()
	for i, r := range results {
		if r.OK {
			won = append(won, i)
			continue
		}
		require.Equal(w.t, run.Conflict, r.Error.Code, "%v", r.Error)
		require.Len(w.t, r.Error.Issues, 1)
		require.Contains(w.t, issues, r.Error.Issues[0])
	}
	return won
}

func traceRaces(w world) {
	w.run("of twenty claims of one step exactly one wins", func(w world) {
		for range 3 {
			id := w.start("one-step", nil)
			var calls []attempt
			for i := range 20 {
				calls = append(calls, attempt{[]string{A1, A2}[i%2], "claim", Args{"runId": id, "stepId": "work", "requestId": ID()}})
			}
			results := w.race(calls...)
			won := w.winners(results, "claimed_by_you", "claimed_by_other")
			require.Len(w.t, won, 1)
			w.ok(calls[won[0]].by, "submit", submitArgs(read[run.ClaimView](w.t, results[won[0]].Data).Token, Args{}))
		}
	})
	w.run("of two decisions exactly one wins", func(w world) {
		for range 3 {
			id := w.toApproval()
			item := w.item(id)
			results := w.race(
				attempt{Mira, "decide", decideArgs(id, item, "approved")},
				attempt{Omar, "decide", decideArgs(id, item, "rejected", Args{"note": "No."})})
			won := w.winners(results, "already_decided", "run_ended")
			require.Len(w.t, won, 1)
			decided := w.get(id).Data.Steps["approve"]
			require.Equal(w.t, []run.Decision{"approved", "rejected"}[won[0]], decided.Decision)
		}
	})
	w.run("of two submissions under one token exactly one is recorded", func(w world) {
		id := w.start("one-step", nil)
		token := w.claim(A1, id, "work").Token
		results := w.race(
			attempt{A1, "submit", submitArgs(token, Args{"n": 1})}, attempt{A1, "submit", submitArgs(token, Args{"n": 2})})
		require.Len(w.t, w.winners(results, "run_ended"), 1)
	})
	w.run("twenty copies of one call give one result", func(w world) {
		twenty := func(by, tool string, args Args) string {
			var calls []attempt
			for range 20 {
				calls = append(calls, attempt{by, tool, args})
			}
			results := w.race(calls...)
			for _, r := range results {
				require.True(w.t, r.OK, "%s: %v", tool, r.Error)
				require.Equal(w.t, withoutURLs(results[0].Data), withoutURLs(r.Data), tool)
			}
			return string(results[0].Data)
		}
		id := read[run.View](w.t, []byte(twenty(Mira, "start_run", Args{"process": "screening", "inputs": Args{"vendor": "x"}, "requestId": ID()}))).Run.ID
		token := read[run.ClaimView](w.t, []byte(twenty(A1, "claim", Args{"runId": id, "stepId": "screen", "requestId": ID()}))).Token
		token = read[run.ClaimView](w.t, []byte(twenty(A1, "renew", Args{"token": token, "requestId": ID()}))).Token
		file := read[struct{ ID string }](w.t, []byte(twenty(A1, "upload", uploadArgs("x")))).ID
		twenty(A2, "send_event", Args{"runId": id, "name": "noise", "requestId": ID()})
		twenty(A1, "submit", w.screened(A1, token, Args{"evidence": []Args{{"kind": "file", "ref": file}}}))
		twenty(Mira, "decide", decideArgs(id, w.item(id), "approved")) // ends the run
		other := w.start("one-step", nil)
		twenty(Boss, "cancel", Args{"runId": other, "reason": "x", "requestId": ID()})
	})
	w.run("one requestId raced by two callers is one caller's", func(w world) {
		for range 3 {
			id, request := w.start("one-step", nil), ID()
			args := Args{"runId": id, "stepId": "work", "requestId": request}
			results := w.race(attempt{A1, "claim", args}, attempt{A2, "claim", args}, attempt{A1, "claim", args}, attempt{A2, "claim", args})
			won := w.winners(results, "request_reused", "claimed_by_other")
			require.NotEmpty(w.t, won)
			for _, i := range won {
				require.Equal(w.t, string(results[won[0]].Data), string(results[i].Data))
				require.Equal(w.t, won[0]%2, i%2, "all of one caller")
			}
		}
	})
	w.run("a cancel and a claim leave one of two orders behind", func(w world) {
		for range 5 {
			id := w.start("one-step", nil)
			results := w.race(
				attempt{A1, "claim", Args{"runId": id, "stepId": "work", "requestId": ID()}},
				attempt{Boss, "cancel", Args{"runId": id, "reason": "x", "requestId": ID()}})
			require.True(w.t, results[1].OK, "%v", results[1].Error)
			w.winners(results, "run_ended")
			v := w.get(id)
			require.Equal(w.t, run.Cancelled, v.Run.State)
			require.Equal(w.t, run.StepCancelled, state(v, "work"))
			require.Empty(w.t, w.agentWork(A1, id))
			if results[0].OK {
				token := read[run.ClaimView](w.t, results[0].Data).Token
				w.refused(run.Conflict, A1, "submit", submitArgs(token, Args{}), "run_ended")
			}
		}
	})
}
