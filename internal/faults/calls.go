package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/run"
)

// call is one write as its caller saw it: sent, perhaps often, until there was a
// definite answer.
type call struct {
	By        identity.Caller
	Tool      string
	RunID     string // empty for a start until it is answered
	RequestID string
	Args      json.RawMessage
	// Command is what the run should make of it; nil for start_run and upload.
	Command *run.Command
	Process string // of a start
	Mode    run.Mode

	Began, Ended time.Time
	Sent         int
	// Unanswered sendings may yet be carried out, also after the answer.
	Unanswered int
	OK         bool
	Data       json.RawMessage
	Refusal    *run.Error
	// Others are further definite answers, to what was sent at the same time.
	Others []answer
	// Abandoned is set where the caller gave up without an answer.
	Abandoned bool
	// Late is set where the ledger shows that a sending nobody waited for was
	// carried out after another had been refused.
	Late bool
}

func (c *call) String() string {
	outcome := "no definite answer"
	switch {
	case c.Abandoned && !c.OK:
		outcome = "abandoned"
	case c.OK:
		outcome = "ok"
	case c.Refusal != nil:
		outcome = c.Refusal.Error()
	}
	return fmt.Sprintf("%s %s by %s on %s, sent %d times (%d unanswered) from %s to %s: %s; arguments %.300s",
		c.Tool, c.RequestID, c.By.Subject, c.RunID, c.Sent, c.Unanswered,
		c.Began.Format("15:04:05.000"), c.Ended.Format("15:04:05.000"), outcome, c.Args)
}

// answer is what one sending came to.
type answer struct {
	ok      bool
	data    json.RawMessage
	refusal *run.Error
}

func (a answer) definite() bool { return a.ok || a.refusal != nil && a.refusal.Code != run.Retry }

// ledgerOfCalls is every call that was made, in the order of their ends.
type ledgerOfCalls struct {
	mu    sync.Mutex
	calls []*call
}

func (l *ledgerOfCalls) add(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, c)
}

func (l *ledgerOfCalls) all() []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*call(nil), l.calls...)
}

// caller is a client with choices of its own.
type caller struct {
	identity.Caller
	name  string
	token string
	url   string
	http  *http.Client
	rng   *rand.Rand
	calls *ledgerOfCalls
	sent  int
	// patient clients do not give up on a sending, nor double it: those that
	// put an end to things.
	patient bool
	// forgetful ones leave a call without an answer alone, now and then.
	forgetful bool
}

const (
	// patience is how long a client waits for one answer; the server promises
	// one within 15 seconds.
	patience = 20 * time.Second
	maxBody  = 8 << 20
)

// newCaller makes a client. Connections are not kept, so that each call goes to
// the next server in turn.
func newCaller(s *stack, seed uint64, id string, who identity.Caller, n uint64, calls *ledgerOfCalls) *caller {
	return &caller{
		Caller: who, name: fmt.Sprintf("%s-%d", who.Subject, n), token: s.tokens[id], url: s.URL + "/mcp",
		http:  &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		rng:   rand.New(rand.NewPCG(seed, 100+n)),
		calls: calls,
	}
}

// chance draws whether something with this probability in percent happens.
func (c *caller) chance(percent int) bool { return c.rng.IntN(100) < percent }

// requestID is the next one of this client, the same in every run of a seed.
func (c *caller) requestID() string {
	c.sent++
	return fmt.Sprintf("%s-%d", c.name, c.sent)
}

// write makes a call and repeats it until there is a definite answer or ctx ends.
// Now and then the client is in a hurry, and sends it again before, or twice.
func (c *caller) write(ctx context.Context, w *call, args any) *call {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings, numbers and raw JSON
	}
	w.By, w.Args, w.Began = c.Caller, raw, time.Now()
	hurried, doubled := c.chance(4) && !c.patient, c.chance(10) && !c.patient
	forgets := c.forgetful && c.chance(8)
	hurry := 5*time.Millisecond + time.Duration(c.rng.Int64N(int64(300*time.Millisecond)))
	for ctx.Err() == nil {
		wait := patience
		if hurried {
			wait, hurried = hurry, false
		}
		var got []answer
		if doubled {
			doubled = false
			got = c.twice(ctx, w, wait)
		} else {
			w.Sent++
			a, err := c.send(ctx, w.Tool, raw, wait)
			if err == nil {
				got = append(got, a)
			} else {
				w.Unanswered++
			}
		}
		if c.settle(w, got) {
			break
		}
		if forgets {
			w.Abandoned = true
			break
		}
		pause(ctx, 50*time.Millisecond+time.Duration(c.rng.Int64N(int64(400*time.Millisecond))))
	}
	w.Ended = time.Now()
	c.calls.add(w)
	return w
}

// settle takes the definite answer among several: that it was done, if any says so.
func (c *caller) settle(w *call, got []answer) bool {
	for _, a := range got {
		if !a.definite() {
			w.Unanswered++ // `retry` says as much
			continue
		}
		if w.OK || w.Refusal != nil && !a.ok {
			w.Others = append(w.Others, a)
			continue
		}
		w.OK, w.Data, w.Refusal = a.ok, a.data, a.refusal
	}
	return w.OK || w.Refusal != nil
}

func (c *caller) twice(ctx context.Context, w *call, wait time.Duration) []answer {
	answers := make([]answer, 2)
	errs := make([]error, 2)
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() { answers[i], errs[i] = c.send(ctx, w.Tool, w.Args, wait) })
	}
	both.Wait()
	w.Sent += 2
	var got []answer
	for i := range 2 {
		if errs[i] == nil {
			got = append(got, answers[i])
		} else {
			w.Unanswered++
		}
	}
	return got
}

// send sends a call once. An error means that there was no answer of the protocol.
func (c *caller) send(ctx context.Context, tool string, args json.RawMessage, wait time.Duration) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args},
	})
	if err != nil {
		return answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", "2025-11-25")
	res, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	_ = res.Body.Close() // it has been read
	if err != nil {
		return answer{}, err
	}
	var reply struct {
		Result struct {
			StructuredContent struct {
				OK    *bool           `json:"ok"`
				Data  json.RawMessage `json:"data"`
				Error *run.Error      `json:"error"`
			} `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal(text, &reply); err != nil {
		return answer{}, fmt.Errorf("%s: %s: %.200s", tool, res.Status, text)
	}
	content := reply.Result.StructuredContent
	if content.OK == nil || *content.OK == (content.Error != nil) {
		return answer{}, fmt.Errorf("%s: %s: %.200s", tool, res.Status, text)
	}
	return answer{ok: *content.OK, data: content.Data, refusal: content.Error}, nil
}

// read calls a tool that writes nothing, once.
func read[T any](ctx context.Context, c *caller, tool string, args map[string]any) (T, error) {
	var value T
	raw, err := json.Marshal(args)
	if err != nil {
		return value, err
	}
	a, err := c.send(ctx, tool, raw, patience)
	switch {
	case err != nil:
		return value, err
	case !a.ok:
		return value, a.refusal
	}
	return value, json.Unmarshal(a.data, &value)
}

func pause(ctx context.Context, d time.Duration) { wait(ctx, d) }
