package conformance

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"

	"github.com/agentprocess-temporal/server/process"
)

// Item is the open work item of a step, from the view that came last.
func (r *Run) Item(step string) V {
	for _, item := range r.Last.List("workItems") {
		if item.Str("stepId") == step {
			return item
		}
	}
	r.t.Fail("step %s has no open work item", step)
	return V{}
}

// decideArgs are arguments of decide for an item, without what goes with them.
func decideArgs(item V, decision string, more ...Args) Args {
	args := Args{
		"runId": item.Str("decide.arguments.runId"), "workItemId": item.Str("id"), "snapshot": item.Str("snapshot"), "decision": decision,
	}
	for _, a := range more {
		args = with(args, a)
	}
	return args
}

// Complete completes a task or an escalated step with a valid sample.
func (r *Run) Complete(as *Actor, step string, more ...Args) V {
	args := r.completeArgs(as, step, more...)
	v := r.t.OK(as, "decide", args)
	r.submitted(step, as, args)
	r.see("decide", v)
	return v
}

func (r *Run) completeArgs(as *Actor, step string, more ...Args) Args {
	def := r.step(step).def
	args := Args{"output": r.output(step, 0)}
	if len(def.Routes) > 0 {
		args["next"], args["reason"] = def.Routes[0].To, "So it is."
	}
	if len(def.Evidence) > 0 {
		args["evidence"] = r.t.evidence(as, def.Evidence)
	}
	return decideArgs(r.Item(step), "completed", append([]Args{args}, more...)...)
}

// Approve approves, with or without a note.
func (r *Run) Approve(as *Actor, step, note string) V {
	args := decideArgs(r.Item(step), "approved")
	rec := Args{"decision": "approved", "note": perhaps{""}, "by": as.ID, "at": aTime{}}
	if note != "" {
		args["note"], rec["note"] = note, note
	}
	v := r.t.OK(as, "decide", args)
	r.m.complete(r.step(step), rec, r.step(step).def.Next)
	r.see("decide", v)
	return v
}

// Reject rejects with a note.
func (r *Run) Reject(as *Actor, step, note string) V {
	v := r.t.OK(as, "decide", decideArgs(r.Item(step), "rejected", Args{"note": note}))
	r.m.reject(r.step(step), Args{"decision": "rejected", "note": note, "by": as.ID, "at": aTime{}})
	r.see("decide", v)
	return v
}

// Return returns an escalated step.
func (r *Run) Return(as *Actor, step, note string) V {
	v := r.t.OK(as, "decide", decideArgs(r.Item(step), "returned", Args{"note": note}))
	s := r.step(step)
	s.state, s.escalation, s.item, s.since, s.again = "ready", nil, "", time.Time{}, true
	if s.def.Kind == process.Task {
		s.state = "waiting"
	}
	s.addHandoff("returned", Args{"note": note, "by": as.ID, "at": aTime{}})
	r.see("decide", v)
	return v
}

// FailStep ends the run at a step.
func (r *Run) FailStep(as *Actor, step, note string) V {
	v := r.t.OK(as, "decide", decideArgs(r.Item(step), "failed", Args{"note": note}))
	r.m.fail(r.step(step), as.ID, note)
	r.see("decide", v)
	return v
}

// Event sends an event, and holds who consumed it to the model.
func (r *Run) Event(as *Actor, name string, data Args) {
	args := Args{"runId": r.ID, "name": name}
	e := mevent{name: name, by: as.ID}
	if data != nil {
		args["data"], e.data = data, norm(data)
	}
	v := r.t.OK(as, "send_event", args)
	r.t.Match("the result of send_event", Args{"consumedBy": r.m.event(e)}, v)
	r.Get()
}

// Cancel cancels the run.
func (r *Run) Cancel(reason string) V {
	v := r.t.OK(r.t.Boss, "cancel", Args{"runId": r.ID, "reason": reason})
	r.m.end("cancelled", nil, Args{"by": r.t.Boss.ID, "at": aTime{}, "note": reason})
	r.see("cancel", v)
	return v
}

// evidence makes items of the kinds, uploading files.
func (t *T) evidence(as *Actor, kinds []process.EvidenceKind) []any {
	var items []any
	for _, k := range kinds {
		if k == process.File {
			items = append(items, Args{"kind": "file", "ref": t.upload(as, "evidence "+newID())})
		} else {
			items = append(items, Args{"kind": "link", "ref": "https://example.com/doc?a=1&b=<2>"})
		}
	}
	return items
}

// upload uploads a text and returns its id.
func (t *T) upload(as *Actor, text string) string {
	v := t.OK(as, "upload", Args{"fileName": "evidence.txt", "contentType": "text/plain", "contentBase64": base64.StdEncoding.EncodeToString([]byte(text))})
	sum := sha256.Sum256([]byte(text))
	t.Match("the result of upload", Args{"id": aText{}, "sha256": hex.EncodeToString(sum[:]), "bytes": len(text)}, v)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hashes == nil {
		t.hashes = map[string]string{}
	}
	t.hashes[v.Str("id")] = v.Str("sha256")
	return v.Str("id")
}

func (t *T) hashOf(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hashes[id]
}

// uncheck is a step without its check.
func uncheck(def *process.Step) *process.Step {
	c := *def
	c.Check = nil
	return &c
}
