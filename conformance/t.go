package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentprocess-temporal/server/schemas"
)

// Actor is a caller.
type Actor struct {
	// Name is its place in the configuration, such as `agents.one`.
	Name string
	// ID is how the server names it in `by` and `startedBy`.
	ID string
	// Person is its value of type person; empty for an agent.
	Person string
	wire   *wire
}

// Call is one call that a check made, and what came back.
type Call struct {
	As     string
	Tool   string
	Args   json.RawMessage
	Answer json.RawMessage
	Error  string
}

// Failure is what a check found.
type Failure struct {
	Message string
	// Expected and Got may be empty where the message says it all.
	Expected, Got string
}

// T is a check under way. Its methods end the check when something is not as it
// must be.
type T struct {
	*Suite
	Check *Check
	ctx   context.Context //nolint:containedctx // it lasts as long as the check

	mu     sync.Mutex
	calls  []Call
	tokens []string
	runs   map[string]bool
	hashes map[string]string
	// clock is how far the server's clock is ahead of ours.
	clock time.Duration
}

type failed struct{ Failure }

// Fail ends the check.
func (t *T) Fail(format string, args ...any) {
	panic(failed{Failure{Message: fmt.Sprintf(format, args...)}})
}

// Equal ends the check unless got is what was expected.
func (t *T) Equal(what string, expected, got any) {
	if v, ok := got.(V); ok {
		got = v.X
	}
	e := norm(expected)
	g := norm(got)
	if d := difference("", e, g); d != "" {
		panic(failed{Failure{what + ": " + d, string(mustEncode(e)), string(mustEncode(g))}})
	}
}

// True ends the check unless ok.
func (t *T) True(ok bool, format string, args ...any) {
	if !ok {
		t.Fail(format, args...)
	}
}

// Skip ends the check without a verdict.
func (t *T) Skip(reason string) { panic(skipped{reason}) }

type skipped struct{ reason string }

// Result is what a tool answered.
type Result struct {
	OK     bool
	Data   V
	Code   string
	Issues []string
	raw    json.RawMessage
}

// writes are the tools that take a requestId.
var writes = []string{"start_run", "claim", "renew", "upload", "submit", "escalate", "decide", "cancel", "send_event"}

// patience is how often a call answered `retry` is sent again, ever more slowly: a
// server that bounds how often one may call has its minute.
const patience = 30

// pause is how long to wait before a call is sent again.
func pause(attempt int) time.Duration {
	return min(50*time.Millisecond<<min(attempt, 10), 2*time.Second) + rand.N(50*time.Millisecond)
}

// Call calls a tool. A write without requestId gets a fresh one. `retry` is
// answered by sending the same again, as the specification asks.
func (t *T) Call(as *Actor, tool string, args Args) Result {
	if slices.Contains(writes, tool) {
		if _, given := args["requestId"]; !given {
			args = with(args, Args{"requestId": newID()})
		}
	}
	return t.send(as, tool, args)
}

// send calls a tool with arguments as they are.
func (t *T) send(as *Actor, tool string, args any) Result {
	raw := mustEncode(args)
	for attempt := 0; ; attempt++ {
		result := t.once(as, tool, raw)
		if result.OK || result.Code != "retry" || attempt == patience {
			return result
		}
		t.sleep(pause(attempt))
	}
}

func (t *T) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
		t.Fail("the time for this check is over")
	}
}

func (t *T) once(as *Actor, tool string, raw json.RawMessage) Result {
	answer, err := as.wire.call(t.ctx, tool, raw)
	call := Call{As: as.Name, Tool: tool, Args: raw, Answer: answer}
	if err != nil {
		call.Error = err.Error()
		t.record(call, nil)
		t.Fail("%s as %s: %v", tool, as.Name, err)
	}
	result, err := readResult(answer)
	t.record(call, &result)
	if err != nil {
		t.Fail("%s as %s: the result is neither {ok: true, data} nor {ok: false, error}: %v", tool, as.Name, err)
	}
	if result.OK {
		t.inspect(as, tool, result)
	}
	return result
}

func (t *T) record(call Call, result *Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, call)
	if result == nil || !result.OK {
		return
	}
	if token := result.Data.Str("token"); token != "" && !slices.Contains(t.tokens, token) {
		t.tokens = append(t.tokens, token)
	}
	if id := result.Data.Str("run.id"); id != "" {
		t.runs[id] = slices.Contains([]string{"active", "waiting"}, result.Data.Str("run.state"))
	}
}

var codes = []string{"invalid", "not_accepted", "stale", "conflict", "forbidden", "not_found", "retry"}

// readResult holds an answer to the envelope of spec §4.
func readResult(raw json.RawMessage) (Result, error) {
	r := Result{raw: raw}
	v, err := parse(raw)
	if err != nil {
		return r, err
	}
	ok, isBool := v.At("ok").X.(bool)
	if !isBool {
		return r, errors.New("ok is missing")
	}
	r.OK, r.Data = ok, v.At("data")
	if ok {
		if _, object := r.Data.X.(map[string]any); !object {
			return r, errors.New("data is no object")
		}
		if v.At("error").X != nil {
			return r, errors.New("ok is true beside an error")
		}
		return r, nil
	}
	if v.At("data").X != nil {
		return r, errors.New("ok is false beside data")
	}
	r.Code, r.Issues = v.Str("error.code"), v.Strs("error.issues")
	if !slices.Contains(codes, r.Code) {
		return r, fmt.Errorf("error.code is %s, and no code of the specification", v.At("error.code"))
	}
	if v.Str("error.message") == "" {
		return r, errors.New("error.message is missing")
	}
	if issues := v.At("error.issues").X; issues != nil && len(r.Issues) != len(v.List("error.issues")) {
		return r, errors.New("error.issues is no list of strings")
	}
	return r, nil
}

// OK calls a tool that must succeed.
func (t *T) OK(as *Actor, tool string, args Args) V {
	r := t.Call(as, tool, args)
	if !r.OK {
		t.failCall(as, tool, "ok", r)
	}
	return r.Data
}

// Refused calls a tool that must be refused with a code.
func (t *T) Refused(code string, as *Actor, tool string, args Args) Result {
	r := t.Call(as, tool, args)
	if r.OK || r.Code != code {
		t.failCall(as, tool, code, r)
	}
	return r
}

// RefusedWith is Refused with exactly these issues.
func (t *T) RefusedWith(code string, issues []string, as *Actor, tool string, args Args) Result {
	r := t.Refused(code, as, tool, args)
	t.sameIssues(tool+" as "+as.Name, issues, r.Issues)
	return r
}

// sameIssues compares issues without regard to their order. One that ends in *
// stands for any that begins so: where the specification fixes no words.
func (t *T) sameIssues(what string, expected, got []string) {
	left := slices.Clone(got)
	ok := len(expected) == len(got)
	for _, e := range expected {
		i := slices.IndexFunc(left, func(g string) bool {
			start, open := strings.CutSuffix(e, "*")
			return g == e || open && strings.HasPrefix(g, start)
		})
		if i < 0 {
			ok = false
			break
		}
		left = slices.Delete(left, i, i+1)
	}
	if !ok {
		panic(failed{Failure{what + ": the issues are not the expected ones", string(mustEncode(expected)), string(mustEncode(got))}})
	}
}

func (t *T) failCall(as *Actor, tool, expected string, r Result) {
	got := "ok"
	if !r.OK {
		got = r.Code
		if len(r.Issues) > 0 {
			got += " " + string(mustEncode(r.Issues))
		}
	}
	panic(failed{Failure{fmt.Sprintf("%s as %s was answered %s instead of %s", tool, as.Name, got, expected), expected, string(r.raw)}})
}

// inspect holds whatever succeeded to what is true of every answer.
func (t *T) inspect(as *Actor, tool string, r Result) {
	if tool != "describe" && slices.Contains(schemas.Tools(), tool) {
		if err := schemas.CheckResult(tool, mustEncode(r.Data.X)); err != nil {
			t.Fail("%s as %s: the result is not as the schema of tools.md has it: %v", tool, as.Name, err)
		}
	}
	t.noToken(tool, r)
	if r.Data.Has("", "run") && r.Data.Has("", "workItems") {
		if problem := viewProblem(r.Data); problem != "" {
			t.Fail("%s as %s: the run view contradicts itself: %s", tool, as.Name, problem)
		}
	}
}

// noToken: a token is given to its claimant and shown nowhere else (spec §6.2).
func (t *T) noToken(tool string, r Result) {
	t.mu.Lock()
	tokens := slices.Clone(t.tokens)
	t.mu.Unlock()
	text := string(r.raw)
	own := ""
	if tool == "claim" || tool == "renew" {
		own = r.Data.Str("token")
	}
	for _, token := range tokens {
		if token == own {
			continue
		}
		if strings.Contains(text, token) {
			t.Fail("the result of %s contains the token of a claim", tool)
		}
	}
}

// Together calls f n times at once, and waits for all.
func (t *T) Together(n int, f func(i int)) {
	var group sync.WaitGroup
	panics := make(chan any, n)
	start := make(chan struct{})
	for i := range n {
		group.Add(1)
		go func() {
			defer group.Done()
			defer func() {
				if p := recover(); p != nil {
					panics <- p
				}
			}()
			<-start
			f(i)
		}()
	}
	close(start)
	group.Wait()
	select {
	case p := <-panics:
		panic(p)
	default:
	}
}

// Lose sends a call and hangs up without reading the answer.
func (t *T) Lose(as *Actor, tool string, args Args) {
	ctx, cancel := context.WithTimeout(t.ctx, 4*time.Millisecond)
	defer cancel()
	raw := mustEncode(args)
	answer, err := as.wire.call(ctx, tool, raw)
	call := Call{As: as.Name, Tool: tool, Args: raw, Answer: answer, Error: "(the client hung up without an answer)"}
	if err == nil {
		call.Error = ""
	}
	t.record(call, nil)
}

// RefusedAs calls a tool that must be refused with one of these codes: where the
// specification leaves the code open.
func (t *T) RefusedAs(either []string, as *Actor, tool string, args Args) Result {
	r := t.Call(as, tool, args)
	if r.OK || !slices.Contains(either, r.Code) {
		t.failCall(as, tool, strings.Join(either, " or "), r)
	}
	return r
}

// RunEnded calls a tool that must be refused because the run is over.
func (t *T) RunEnded(as *Actor, tool string, args Args) {
	t.RefusedWith("conflict", []string{"run_ended"}, as, tool, args)
}
