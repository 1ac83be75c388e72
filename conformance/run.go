package conformance

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/agentprocess-temporal/server/process"
)

// Run is a run that a check follows. Each method makes a call that must succeed,
// and holds its result to the model.
type Run struct {
	t *T
	m *model
	// ID is the run's id, Last the view that came last.
	ID   string
	Last V
	at   map[string]string
	f    *Fixture
}

// fixture finds a fixture of the walked set or of ours.
func (s *Suite) fixture(name string) *Fixture {
	if f := s.walked[name]; f != nil {
		return f
	}
	return s.Fixtures[name]
}

// Start starts a run. Inputs nil are a valid sample.
func (t *T) Start(as *Actor, name string, inputs Args, more ...Args) *Run {
	f := t.fixture(name)
	if inputs == nil {
		inputs = t.sample(f.Process.Inputs, 0)
	}
	args := Args{"process": name, "inputs": inputs}
	m := newModel(f.Process, t.Group)
	m.version, m.startedBy, m.initiator, m.inputs = t.published[name].At("version").X, as.ID, as.Person, norm(inputs)
	for _, a := range more {
		args = with(args, a)
		if mode, ok := a["mode"].(string); ok {
			m.mode = mode
		}
	}
	r := &Run{t: t, m: m, at: map[string]string{}, f: f}
	m.start()
	before := time.Now()
	v := t.OK(as, "start_run", args)
	r.ID = v.Str("run.id")
	r.see("start_run", v)
	if _, replay := args["requestId"]; !replay {
		t.readClock(before, v)
	}
	return r
}

// readClock compares the server's clock with ours.
func (t *T) readClock(before time.Time, v V) {
	at, _ := when(v.Str("run.startedAt"))
	t.clock = at.Sub(before.Add(time.Since(before) / 2))
	t.True(t.clock > -clockSkew && t.clock < clockSkew, "run.startedAt is %s, which is not now", v.Str("run.startedAt"))
}

// see holds a view to the model.
func (r *Run) see(tool string, v V) {
	r.t.Match("the run view that "+tool+" returned", r.m.view(r.ID), v)
	if r.Last.X != nil {
		before, _ := when(r.Last.Str("run.updatedAt"))
		after, _ := when(v.Str("run.updatedAt"))
		r.t.True(!after.Before(before), "%s returned a view with an updatedAt before that of an earlier view", tool)
		r.t.Equal("run.startedAt of "+tool, r.Last.At("run.startedAt").X, v.At("run.startedAt"))
	}
	r.Last = v
	for _, item := range v.List("workItems") {
		r.m.steps[item.Str("stepId")].item = item.Str("id")
	}
	updated, _ := when(v.Str("run.updatedAt"))
	for _, sv := range v.List("steps") {
		s := r.m.steps[sv.Str("id")]
		if s.def.Due.IsZero() || !s.open() {
			continue
		}
		due, _ := when(sv.Str("due"))
		if s.due.IsZero() {
			off := due.Sub(s.def.Due.After(updated))
			r.t.True(off < skew && off > -2*time.Minute, "%s: step %s is due at %s, which is not %s after it became ready (about %s)",
				tool, s.def.ID, sv.Str("due"), s.def.Due, updated.Format(time.RFC3339))
			s.due = due
		}
		r.t.True(due.Equal(s.due), "%s: step %s was due at %s and is due at %s now, within one attempt", tool, s.def.ID, s.due.Format(time.RFC3339Nano), sv.Str("due"))
	}
	r.keepTimes(tool, v)
}

// keepTimes: what is recorded once keeps its time, also in history.
func (r *Run) keepTimes(tool string, v V) {
	for id := range r.m.steps {
		rec := v.At("data.steps." + id)
		history := rec.List("history")
		for i, c := range append(slices.Clone(history), rec) {
			if !c.Has("", "at") {
				continue
			}
			key := fmt.Sprintf("%s %d", id, i)
			if r.at[key] == "" {
				r.at[key] = c.Str("at")
			}
			if r.at[key] != c.Str("at") {
				a, _ := when(r.at[key])
				b, _ := when(c.Str("at"))
				r.t.True(a.Equal(b), "%s: completion %d of step %s was recorded at %s, and now says %s", tool, i+1, id, r.at[key], c.Str("at"))
			}
		}
	}
}

// Get reads the run and holds it to the model: also that a refusal changed
// nothing.
func (r *Run) Get() V {
	v := r.t.OK(r.t.Two, "get_run", Args{"runId": r.ID})
	r.see("get_run", v)
	return v
}

// step is a step of the model.
func (r *Run) step(id string) *mstep { return r.m.steps[id] }

// Work finds the get_work item of a step, which must be there.
func (r *Run) Work(as *Actor, step string) V {
	item, ok := r.find(as, step)
	r.t.True(ok, "get_work as %s does not list step %s of the run", as.Name, step)
	s := r.step(step)
	if as.Person == "" {
		r.t.Match("the get_work item of "+step, r.m.agentWork(r.ID, s), item)
		r.sameDue("the get_work item of "+step, s, item.Str("due"))
		r.readySince(s, item.Str("readySince"))
	} else {
		r.t.Match("the get_work item of "+step, r.m.personWork(r.ID, s), item)
		r.sameDue("the get_work item of "+step, s, item.Str("workItem.due"))
	}
	return item
}

// sameDue: wherever due is shown, it is the same moment.
func (r *Run) sameDue(what string, s *mstep, due string) {
	if s.due.IsZero() {
		return
	}
	at, _ := when(due)
	r.t.True(at.Equal(s.due), "%s is due at %s, and the step at %s", what, due, s.due.Format(time.RFC3339Nano))
}

// readySince lies between what made the step ready and the view that shows it,
// and stays as it is while the step does.
func (r *Run) readySince(s *mstep, text string) {
	since, _ := when(text)
	if !s.since.IsZero() {
		r.t.True(since.Equal(s.since), "readySince of %s was %s and is %s now", s.def.ID, s.since.Format(time.RFC3339Nano), text)
		return
	}
	s.since = since
	earliest, _ := when(r.Last.Str("run.startedAt"))
	for id, other := range r.m.steps {
		at, ok := when(r.Last.Str("data.steps." + id + ".at"))
		if ok && at.After(earliest) && other.doneAt < s.opened {
			earliest = at
		}
	}
	now := time.Now().Add(r.t.clock)
	r.t.True(!since.Before(earliest.Add(-time.Second)) && !since.After(now.Add(skew)),
		"readySince of %s is %s: not between what came before it (%s) and now (%s)", s.def.ID, text, earliest.Format(time.RFC3339Nano), now.Format(time.RFC3339Nano))
}

// NoWork: get_work must not list the step.
func (r *Run) NoWork(as *Actor, step string) {
	if item, ok := r.find(as, step); ok {
		r.t.Fail("get_work as %s lists step %s, which it must not: %s", as.Name, step, item)
	}
}

func (r *Run) find(as *Actor, step string) (V, bool) {
	for _, item := range r.t.allWork(as, r.m.p.Name) {
		if item.Str("runId") != r.ID {
			continue
		}
		if item.Str("stepId") == step || item.Str("workItem.stepId") == step {
			return item, true
		}
	}
	return V{}, false
}

// allWork reads get_work to its end.
func (t *T) allWork(as *Actor, name string) []V {
	var all []V
	args := Args{"limit": 100}
	if name != "" {
		args["process"] = name
	}
	for range 200 {
		page := t.OK(as, "get_work", args)
		all = append(all, page.List("items")...)
		cursor := page.Str("nextCursor")
		if cursor == "" {
			return all
		}
		args["cursor"] = cursor
	}
	t.Fail("get_work as %s has no end after 200 pages", as.Name)
	return nil
}

// Claim is a claim that a check holds.
type Claim struct {
	r     *Run
	as    *Actor
	step  string
	Token string
	View  V
}

// Claim claims a ready step.
func (r *Run) Claim(as *Actor, step string, more ...Args) *Claim {
	args := Args{"runId": r.ID, "stepId": step}
	for _, a := range more {
		args = with(args, a)
	}
	before := time.Now()
	v := r.t.OK(as, "claim", args)
	s := r.step(step)
	r.t.Match("the result of claim", r.m.claimView(s), v)
	s.state = "claimed"
	r.t.leaseOf("claim", before, v)
	return &Claim{r: r, as: as, step: step, Token: v.Str("token"), View: v}
}

// clockSkew is how far the clocks of client and server may be apart.
const clockSkew = 2 * time.Minute

// leaseOf: a lease lasts as long as describe says, by the server's clock.
func (t *T) leaseOf(tool string, before time.Time, v V) {
	at, _ := when(v.Str("expiresAt"))
	off := at.Sub(before.Add(t.clock)) - t.Lease
	took := time.Since(before)
	t.True(off > -2*skew && off < took+2*skew, "%s: expiresAt is %s, which is not leaseSeconds (%s) from now", tool, v.Str("expiresAt"), t.Lease)
}

// output is a valid sample for the claimed step.
func (r *Run) output(step string, n int) Args { return r.t.sample(r.step(step).def.Output, n) }

// args are valid arguments of submit.
func (c *Claim) args(more ...Args) Args {
	def := c.r.step(c.step).def
	args := Args{"token": c.Token, "output": c.r.output(c.step, 0), "summary": "Did " + c.step + ". Nothing left undone."}
	if len(def.Routes) > 0 {
		args["next"], args["reason"] = def.Routes[0].To, "It is the first of the ways."
	}
	if len(def.Evidence) > 0 {
		args["evidence"] = c.r.t.evidence(c.as, def.Evidence)
	}
	for _, a := range more {
		args = with(args, a)
	}
	return args
}

// Submit submits valid work, with some arguments replaced.
func (c *Claim) Submit(more ...Args) V {
	args := c.args(more...)
	v := c.r.t.OK(c.as, "submit", args)
	c.r.submitted(c.step, c.as, args)
	c.r.see("submit", v)
	return v
}

// submitted tells the model of an accepted submission or `completed` decision.
func (r *Run) submitted(step string, by *Actor, args Args) {
	s := r.step(step)
	def := s.def
	if s.escalation != nil {
		def = uncheck(def) // a person's work in an agent's place is not checked
	}
	r.m.complete(s, r.completion(def, by, args), nextOf(def, args))
}

func nextOf(def *process.Step, args Args) string {
	if len(def.Routes) > 0 {
		return args["next"].(string)
	}
	return def.Next
}

// completion is what run data must show of a submission.
func (r *Run) completion(def *process.Step, by *Actor, args Args) Args {
	rec := Args{
		"output": norm(args["output"]), "evidence": perhaps{[]any{}}, "summary": perhaps{""}, "next": perhaps{nil}, "reason": perhaps{nil},
		"by": by.ID, "at": aTime{},
	}
	if len(def.Output) == 0 {
		rec["output"] = perhaps{Args{}}
	}
	if len(def.Check) > 0 {
		rec["check"] = anything{} // the checks of the check profile look into it
	}
	if s, _ := args["summary"].(string); s != "" {
		rec["summary"] = s
	}
	if len(def.Routes) > 0 {
		rec["next"], rec["reason"] = args["next"], args["reason"]
	}
	if items, _ := args["evidence"].([]any); len(items) > 0 {
		list := []any{}
		for _, x := range items {
			item := x.(Args)
			if item["kind"] == "file" {
				list = append(list, Args{"kind": "file", "ref": item["ref"], "sha256": r.t.hashOf(item["ref"].(string)), "url": aText{}})
			} else {
				list = append(list, Args{"kind": "link", "ref": item["ref"]})
			}
		}
		rec["evidence"] = list
	}
	return rec
}

// NotAccepted submits what must be refused with these issues, and nothing else
// may change.
func (c *Claim) NotAccepted(issues []string, more ...Args) {
	r := c.r.t.Refused("not_accepted", c.as, "submit", c.args(more...))
	c.r.t.sameIssues("submit", issues, r.Issues)
	c.r.step(c.step).addHandoff("issues", bagOfIssues(r.Issues))
	c.r.Get()
}

// bagOfIssues: a server may keep issues in the order it likes.
func bagOfIssues(issues []string) any {
	if len(issues) > 4 {
		return anything{}
	}
	return bagOf(issues)
}

// Renew renews the lease.
func (c *Claim) Renew(progress string) {
	args := Args{"token": c.Token}
	if progress != "" {
		args["progress"] = progress
	}
	before := time.Now()
	v := c.r.t.OK(c.as, "renew", args)
	c.r.t.leaseOf("renew", before, v)
	old := c.Token
	c.Token = v.Str("token")
	c.r.t.True(c.Token != old, "renew returned the same token again")
}

// Escalate gives the step to a person.
func (c *Claim) Escalate(note string) {
	v := c.r.t.OK(c.as, "escalate", Args{"token": c.Token, "note": note})
	c.r.escalated(c.step, c.as, note)
	c.r.see("escalate", v)
}

func (r *Run) escalated(step string, by *Actor, note string) {
	s := r.step(step)
	s.state = "waiting"
	s.escalation = Args{"note": note, "by": by.ID, "at": aTime{}}
}

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
	s.state, s.escalation, s.item, s.since = "ready", nil, "", time.Time{}
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
