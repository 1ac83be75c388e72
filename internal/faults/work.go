package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agentprocess-temporal/server/internal/runtoken"
	"github.com/agentprocess-temporal/server/run"
)

// args are the arguments of a call.
type args = map[string]any

// world is what clients share: the runs there are.
type world struct {
	stack *stack
	calls *ledgerOfCalls
	// problems are what a client saw that must not be.
	problems *problems

	mu   sync.Mutex
	runs []string
}

func (w *world) began(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = append(w.runs, id)
}

// someRun is one of the latest runs, by the client's choice.
func (w *world) someRun(c *caller) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.runs) == 0 {
		return ""
	}
	latest := w.runs[max(0, len(w.runs)-12):]
	return latest[c.rng.IntN(len(latest))]
}

func (c *caller) actor() run.Actor {
	return run.Actor{ID: c.Subject, Person: c.IsPerson(), Groups: c.Groups, Operator: c.Operator}
}

// do makes a write that a run carries out.
func (w *world) do(ctx context.Context, c *caller, runID string, command run.Command, a args) *call {
	id := c.requestID()
	a["requestId"] = id
	command.RequestID, command.Digest, command.Attempt, command.By = id, id, id, c.actor()
	command.NotAfter = time.Now().Add(1000 * time.Hour) // the model's clock refuses nothing for age
	done := c.write(ctx, &call{Tool: command.Tool(), RunID: runID, RequestID: id, Command: &command}, a)
	w.check(ctx, c, done)
	return done
}

// check does what a suspicious caller does next: see the write, have the
// original result again, and have another call under its requestId refused.
func (w *world) check(ctx context.Context, c *caller, done *call) {
	if !done.OK || ctx.Err() != nil {
		return
	}
	switch n := c.rng.IntN(100); {
	case n < 15:
		w.readOwnWrite(ctx, c, done)
	case n < 30:
		if a, err := c.send(ctx, done.Tool, done.Args, patience); err == nil && a.definite() {
			w.problems.replay(done, a)
		}
	case n < 34 && done.Tool != "upload":
		var other map[string]json.RawMessage
		if err := json.Unmarshal(done.Args, &other); err != nil {
			return
		}
		for _, name := range []string{"stepId", "name", "output", "note", "reason", "progress", "inputs", "decision"} {
			if _, ok := other[name]; !ok {
				continue
			}
			changed := map[string]string{"output": `{"marker":"another"}`, "inputs": `{"marker":"another"}`, "decision": `"failed"`}[name]
			if changed == "" {
				changed = `"another"`
			}
			if name == "decision" {
				other["note"] = json.RawMessage(`"another"`)
				delete(other, "output")
				delete(other, "summary")
			}
			other[name] = json.RawMessage(changed)
			break
		}
		raw, err := json.Marshal(other)
		if err != nil {
			return
		}
		if a, err := c.send(ctx, done.Tool, raw, patience); err == nil && a.definite() {
			w.problems.reuse(done, a, string(raw))
		}
	}
}

// readOwnWrite reads a run that the caller has just written to.
func (w *world) readOwnWrite(ctx context.Context, c *caller, done *call) {
	var wrote run.View
	if done.RunID == "" || json.Unmarshal(done.Data, &wrote) != nil || wrote.Run.ID == "" {
		return
	}
	now, err := read[run.View](ctx, c, "get_run", args{"runId": done.RunID})
	if err == nil && now.Run.UpdatedAt.Before(wrote.Run.UpdatedAt) {
		w.problems.add("a caller does not see its own write: %v; the run it then read was last updated at %v", done, now.Run.UpdatedAt)
	}
}

// start starts a run.
func (w *world) start(ctx context.Context, c *caller, process string, inputs args) *call {
	id := c.requestID()
	inputs["marker"] = id
	mode := run.Live
	if c.chance(10) && process != kept {
		mode = run.Test
	}
	done := c.write(ctx, &call{Tool: "start_run", RequestID: id, Process: process, Mode: mode},
		args{"process": process, "inputs": inputs, "mode": mode, "requestId": id})
	var view run.View
	if done.OK && json.Unmarshal(done.Data, &view) == nil {
		done.RunID = view.Run.ID
		if process != kept {
			w.began(done.RunID)
		}
	}
	w.check(ctx, c, done)
	return done
}

func textOf(size int) string { return strings.Repeat("x", size) }

// starter starts runs as long as fewer than wanted are open.
func (w *world) starter(ctx, until context.Context, c *caller, wanted int) {
	for until.Err() == nil {
		open := 0
		for _, state := range []string{"active", "waiting"} {
			page, err := read[struct{ Items []json.RawMessage }](until, c, "list_runs", args{"state": state, "limit": 100})
			if err != nil {
				open = wanted // do not pile up what cannot be counted
				break
			}
			open += len(page.Items)
		}
		if open >= wanted {
			pause(until, 200*time.Millisecond)
			continue
		}
		switch n := c.rng.IntN(12); {
		case n < 3:
			w.start(ctx, c, "review", args{})
		case n < 6:
			w.start(ctx, c, "fan", args{"until": time.Now().Add(time.Duration(c.rng.IntN(8)) * time.Second).UTC().Format(time.RFC3339)})
		case n < 8:
			w.start(ctx, c, "large", args{"text": textOf(80<<10 + c.rng.IntN(20<<10))})
		case n < 10:
			w.start(ctx, c, "checked", args{})
		default:
			w.start(ctx, c, "quick", args{})
		}
	}
}

// operator sends events and cancels a run once in a while.
func (w *world) operator(ctx, until context.Context, c *caller) {
	for until.Err() == nil {
		pause(until, 200*time.Millisecond+time.Duration(c.rng.Int64N(int64(800*time.Millisecond))))
		id := w.someRun(c)
		if id == "" {
			continue
		}
		if c.chance(6) {
			reason := fmt.Sprintf("%s-%d", c.name, c.sent+1) // its requestId
			w.do(ctx, c, id, run.Command{Cancel: &run.CancelRun{Reason: reason}}, args{"runId": id, "reason": reason})
			continue
		}
		w.event(ctx, c, id)
	}
}

func (w *world) event(ctx context.Context, c *caller, id string) *call {
	return w.eventOf(ctx, c, id, []string{"go", "go", "news"}[c.rng.IntN(3)])
}

func (w *world) eventOf(ctx context.Context, c *caller, id, name string) *call {
	data := json.RawMessage(fmt.Sprintf(`{"marker":%q}`, fmt.Sprintf("%s-%d", c.name, c.sent+1)))
	return w.do(ctx, c, id, run.Command{Event: &run.SendEvent{Name: name, Data: data}}, args{"runId": id, "name": name, "data": data})
}

// upload stores a file, and returns how a submission cites it and what the run
// is told about it.
func (w *world) upload(ctx context.Context, c *caller) (*run.Evidence, map[string]run.File) {
	id := c.requestID()
	content := base64.StdEncoding.EncodeToString([]byte("evidence of " + id))
	done := c.write(ctx, &call{Tool: "upload", RequestID: id},
		args{"fileName": id + ".txt", "contentType": "text/plain", "contentBase64": content, "requestId": id})
	var file struct{ ID, SHA256 string }
	if !done.OK || json.Unmarshal(done.Data, &file) != nil {
		return nil, nil
	}
	return &run.Evidence{Kind: "file", Ref: file.ID}, map[string]run.File{file.ID: {SHA256: file.SHA256, Intact: true}}
}

// holder reads the claim that a token names.
func (w *world) holder(token string) run.Holder {
	claims, _, ok := runtoken.Parse(w.stack.ring, org, token)
	if !ok {
		w.problems.add("a token does not verify: %s", token)
	}
	return run.Holder{StepID: claims.StepID, Number: claims.Number}
}
