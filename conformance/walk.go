package conformance

import (
	"fmt"
	"slices"

	"github.com/agentprocess-temporal/server/process"
)

// A way is one manner of working through a process.
type way struct {
	name, title string
	walk        func(*walker)
}

// walker works through a run of any process, by what the model says is open.
type walker struct {
	*Run
	starter *Actor
	// route picks among routes; detour rejects every approval once that can be,
	// rescue escalates every agent step twice.
	route          int
	detour, rescue bool
	rejected       map[string]bool
	n              int
}

var ways = []way{
	{"straight", "by the first routes, approving everything", func(w *walker) { w.work(1000) }},
	{"detour", "in test mode, by other routes, rejecting every approval once", func(w *walker) { w.route, w.detour = 1, true; w.work(1000) }},
	{"rescue", "with every agent step escalated, returned, and completed by a person", func(w *walker) { w.rescue = true; w.work(1000) }},
	{"broken-off", "cancelled halfway", func(w *walker) {
		w.work(2)
		if !w.m.over() {
			w.Cancel("broken off: enough seen")
			w.Get()
		}
	}},
}

// walkChecks are the checks of the set of fixtures at hand: each is worked through
// in several ways, and every answer compared with the model.
func (s *Suite) walkChecks() []Check {
	var out []Check
	for _, name := range sortedKeys(s.walked) {
		out = append(out, s.walksOf(s.walked[name])...)
	}
	return out
}

func (s *Suite) walksOf(f *Fixture) []Check {
	needs := Needs{Fixtures: []string{f.Name}}
	for _, use := range f.Process.Needs().Profiles {
		if slices.Contains(needs.Profiles, use.Name) {
			continue
		}
		needs.Profiles = append(needs.Profiles, use.Name)
	}
	sure := true
	for i := range f.Process.Steps {
		needs.Slow = needs.Slow || f.Process.Steps[i].Kind == process.Wait
		sure = sure && surelyPasses(&f.Process.Steps[i])
	}
	out := []Check{{
		ID: "listed-" + f.Name, Clauses: []string{"tools list_processes", "spec §2"}, Needs: Needs{Fixtures: needs.Fixtures, Profiles: needs.Profiles},
		Title: fmt.Sprintf("list_processes shows %s as its file has it", f.Name),
		Run:   func(t *T) { t.listed(f) },
	}}
	if !sure {
		return out // what becomes of a submission is for the evaluator to say
	}
	for _, w := range ways {
		out = append(out, Check{
			ID: "walk-" + f.Name + "-" + w.name, Clauses: []string{"spec §3", "spec §6.1", "tools shared-shapes"}, Needs: needs,
			Title: fmt.Sprintf("A run of %s goes %s, and every answer is what the process says", f.Name, w.title),
			Run: func(t *T) {
				starter, mode := t.One, Args{}
				if f.Process.UsesInitiator() {
					starter = t.Member
				}
				if w.name == "detour" {
					mode["mode"] = "test"
				}
				w.walk(&walker{Run: t.Start(starter, f.Name, nil, mode), starter: starter, rejected: map[string]bool{}})
			},
		})
	}
	return out
}

// listed compares the list_processes item with the file.
func (t *T) listed(f *Fixture) {
	if why := t.unpublished[f.Name]; why != "" {
		t.Fail("%s", why)
	}
	p := f.Process
	want := Args{"name": p.Name, "description": p.Description, "version": anything{}, "inputs": Args{}, "requires": perhaps{nil}}
	if len(p.Inputs) > 0 {
		want["inputs"] = fieldsJSON(p.Inputs)
	}
	if p.Requires != nil {
		want["requires"] = Args{"systems": norm(p.Requires.Systems)}
	}
	item, ok := t.listedAs(t.Outsider, f.Name)
	t.True(ok, "list_processes does not show %s", f.Name)
	t.Match("the item of list_processes", want, item)
}

// listedAs finds a process in list_processes.
func (t *T) listedAs(as *Actor, name string) (V, bool) {
	args := Args{}
	for range 200 {
		page := t.OK(as, "list_processes", args)
		for _, item := range page.List("items") {
			if item.Str("name") == name {
				return item, true
			}
		}
		cursor := page.Str("nextCursor")
		if cursor == "" {
			return V{}, false
		}
		args = Args{"cursor": cursor}
	}
	t.Fail("list_processes has no end after 200 pages")
	return V{}, false
}

// surelyPasses tells whether no answer of an evaluator can keep a submission of
// the step from being accepted.
func surelyPasses(s *process.Step) bool {
	if s.Advisory {
		return true
	}
	for _, q := range s.Check {
		sure := q.PassAt != nil && *q.PassAt == 0
		if len(q.OneOf) > 0 {
			sure = len(q.PassNames) == len(q.OneOf) && q.Confidence != nil && *q.Confidence == 0
		}
		if len(q.Levels) > 0 {
			sure = q.PassLevel == 0 && q.Confidence != nil && *q.Confidence == 0
		}
		if !sure {
			return false
		}
	}
	return true
}

// work acts at open steps, oldest first, at most so many times.
func (w *walker) work(most int) {
	for ; most > 0 && !w.m.over(); most-- {
		var open []*mstep
		for _, s := range w.m.steps {
			if s.open() && s.def.Kind != process.Parallel {
				open = append(open, s)
			}
		}
		w.t.True(len(open) > 0, "nothing is open in a run that goes on")
		slices.SortFunc(open, func(a, b *mstep) int { return a.opened - b.opened })
		w.n++
		w.act(open[w.n%len(open)])
		w.Get()
	}
	if w.m.over() {
		w.Get()
	}
}

func (w *walker) act(s *mstep) {
	id := s.def.ID
	switch {
	case s.def.Kind == process.Agent && s.state == "ready":
		w.agent(s)
	case s.def.Kind == process.WaitFor:
		w.Event(w.t.Two, "no-one-waits-for-this", Args{"x": 1})
		w.Event(w.t.Two, s.def.Event, w.t.sample(process.Fields{{Name: "n", Type: process.Number}, {Name: "o", Type: process.Object}}, w.n))
	case s.def.Kind == process.Wait:
		w.await(s)
	case s.def.Kind == process.Approve:
		who := w.who(s)
		w.Work(who, id)
		if w.detour && !w.rejected[id] {
			w.rejected[id] = true
			w.Reject(who, id, "Not yet: "+id+".")
			return
		}
		w.Approve(who, id, []string{"", "Well done."}[w.n%2])
	default:
		who := w.who(s)
		w.Work(who, id)
		w.Complete(who, id, Args{"output": w.output(id, w.n)}, w.choice(s))
	}
}

func (w *walker) agent(s *mstep) {
	id := s.def.ID
	w.Work(w.t.One, id)
	c := w.Claim(w.t.One, id)
	if !w.rescue {
		c.Submit(Args{"output": w.output(id, w.n)}, w.choice(s))
		return
	}
	c.Escalate("I cannot do " + id + ".")
	w.Get()
	w.Work(w.t.Boss, id)
	w.Return(w.t.Boss, id, "Try "+id+" again.")
	w.Work(w.t.Two, id)
	w.Claim(w.t.Two, id).Escalate("Nor can I.")
	w.Complete(w.t.Boss, id, w.choice(s))
}

// choice is the route to take, where there is a choice.
func (w *walker) choice(s *mstep) Args {
	if len(s.def.Routes) == 0 {
		return nil
	}
	return Args{"next": s.def.Routes[w.route%len(s.def.Routes)].To, "reason": "Way " + fmt.Sprint(w.route) + " fits \"best\"."}
}

// who is asked.
func (w *walker) who(s *mstep) *Actor {
	switch {
	case s.escalation != nil:
		return w.t.Boss
	case s.def.Person.Role != "":
		return w.t.Member
	case s.def.Person.Initiator:
		return w.starter
	}
	value := w.m.value(s.def.Person.Path)
	for _, a := range w.t.humans {
		if a.Person == value {
			return a
		}
	}
	w.t.Fail("nobody of the configuration is %v", value)
	return nil
}
