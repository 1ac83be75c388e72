package conformance

import (
	"fmt"
	"slices"
	"time"
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
	r.keepEscalations(tool, v)
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

// keepEscalations: an escalation is of the moment of its call, and stays so.
func (r *Run) keepEscalations(tool string, v V) {
	updated, _ := when(v.Str("run.updatedAt"))
	for _, item := range v.List("workItems") {
		text := item.Str("escalation.at")
		if text == "" {
			continue
		}
		at, _ := when(text)
		key := "escalation " + item.Str("id")
		if r.at[key] == "" {
			r.at[key] = text
			off := updated.Sub(at)
			r.t.True(tool != "escalate" || off > -skew && off < skew, "%s: the escalation says %s, and the run was updated at %s", tool, text, v.Str("run.updatedAt"))
		}
		first, _ := when(r.at[key])
		r.t.True(at.Equal(first), "%s: the escalation was at %s, and now says %s", tool, r.at[key], text)
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
	if !s.due.IsZero() && !s.again {
		off := s.due.Sub(s.def.Due.After(since))
		r.t.True(off > -second && off < second, "step %s is ready since %s and due at %s, which is not %s later", s.def.ID, text, s.due.Format(time.RFC3339Nano), s.def.Due)
	}
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

// NoWork ends the check if get_work lists the step.
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
