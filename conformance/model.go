package conformance

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/agentprocess-temporal/server/process"
)

// model follows one run by the text of the process alone. It says what the run
// view must be after every call. It is written from the specification, to be
// read beside it, and shares no code with any server.
type model struct {
	p         *process.Process
	group     string
	initiator string
	version   any
	mode      string
	startedBy string
	inputs    any
	steps     map[string]*mstep
	seq       int
	held      []mevent
	state     string // "", ended or cancelled
	outcome   any
	ended     any
}

type mevent struct {
	name string
	data any
	by   string
}

// mstep is one step as the run has it now.
type mstep struct {
	def *process.Step
	// state is "" where the step is not reached.
	state string
	// cur is what the step recorded, soft what a step that is to be done again
	// recorded before: by the letter it may still be shown, or be history already.
	cur, soft map[string]any
	history   []any
	// rejecting is set while an approval shows the rejection that it made.
	rejecting bool
	reached   bool
	// doneAt and forkedAt are places in the order of completions.
	doneAt, forkedAt int
	opened           int
	handoff          map[string]any
	escalation       any
	assigned         any
	joined           bool
	overdue          bool
	// again means that the step became ready once more within one attempt: then
	// it is ready since later than its due counts from.
	again bool
	// What the server told us, and must not change while the step is open.
	item  string
	due   time.Time
	since time.Time
}

func newModel(p *process.Process, group string) *model {
	m := &model{p: p, group: group, mode: "live", steps: map[string]*mstep{}}
	for i := range p.Steps {
		m.steps[p.Steps[i].ID] = &mstep{def: &p.Steps[i]}
	}
	return m
}

// open tells whether work can go on at a step.
func (s *mstep) open() bool {
	return s.state == "ready" || s.state == "claimed" || s.state == "waiting"
}

// hasItem tells whether a person is asked.
func (s *mstep) hasItem() bool {
	return s.state == "waiting" && (s.def.Kind == process.Task || s.def.Kind == process.Approve || s.escalation != nil)
}

func (m *model) over() bool { return m.state != "" }

// start makes the first step ready.
func (m *model) start() { m.activate(m.p.Steps[0].ID) }

// activate is what happens when a step becomes ready (spec §3.2).
func (m *model) activate(id string) {
	if m.over() {
		return
	}
	s := m.steps[id]
	m.seq++
	s.reached, s.rejecting = true, false
	s.opened, s.handoff, s.escalation, s.assigned = m.seq, nil, nil, nil
	s.item, s.due, s.since, s.overdue, s.joined, s.again = "", time.Time{}, time.Time{}, false, false, false
	switch s.def.Kind {
	case process.Agent:
		s.state = "ready"
	case process.Task, process.Approve:
		s.state = "waiting"
		m.assign(s)
	case process.Wait:
		s.state = "waiting"
	case process.WaitUntil:
		m.until(s)
	case process.WaitFor:
		s.state = "waiting"
		if i := slices.IndexFunc(m.held, func(e mevent) bool { return e.name == s.def.Event }); i >= 0 {
			e := m.held[i]
			m.held = slices.Delete(m.held, i, i+1)
			m.receive(s, e)
		}
	case process.Finish:
		m.seq++
		s.state, s.doneAt = "done", m.seq
		m.end("ended", s.def.Outcome, Args{"by": "server", "at": aTime{}, "note": nil})
	case process.Parallel:
		s.state, s.forkedAt = "waiting", m.seq
		for _, branch := range s.def.Branches {
			m.steps[branch].joined = false
		}
		for _, branch := range s.def.Branches {
			m.activate(branch)
		}
	}
}

func (m *model) assign(s *mstep) {
	switch who := s.def.Person; {
	case who.Role != "":
		s.assigned = Args{"group": m.group}
	case who.Initiator:
		s.assigned = Args{"person": m.initiator}
	default:
		value := m.value(who.Path)
		if value == nil {
			m.failByServer(s)
			return
		}
		s.assigned = Args{"person": value}
	}
}

func (m *model) until(s *mstep) {
	s.state = "waiting"
	text, _ := m.value(s.def.Until).(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	switch {
	case err != nil:
		m.failByServer(s)
	case !at.After(time.Now()):
		m.pass(s)
	}
}

// pass is what a wait does when its time has come.
func (m *model) pass(s *mstep) {
	m.complete(s, Args{"by": "server", "at": aTime{}, "output": perhaps{Args{}}}, s.def.Next)
}

// timeout is what a wait_for does when nothing came.
func (m *model) timeout(s *mstep) {
	next := s.def.OnTimeout
	if next == "" {
		next = s.def.Next
	}
	m.complete(s, Args{"by": "server", "at": aTime{}, "output": perhaps{Args{}}}, next)
}

// receive is an event reaching its wait.
func (m *model) receive(s *mstep, e mevent) {
	rec := Args{"by": e.by, "at": aTime{}, "output": e.data}
	if e.data == nil {
		rec["output"] = perhaps{Args{}}
	}
	m.complete(s, rec, s.def.Next)
}

// event delivers an event, and tells which step takes it.
func (m *model) event(e mevent) any {
	var waiting *mstep
	for i := range m.p.Steps {
		s := m.steps[m.p.Steps[i].ID]
		if s.state == "waiting" && s.def.Kind == process.WaitFor && s.def.Event == e.name && (waiting == nil || s.opened < waiting.opened) {
			waiting = s
		}
	}
	if waiting == nil {
		m.held = append(m.held, e)
		return nil
	}
	m.receive(waiting, e)
	return waiting.def.ID
}

// value is what a path holds, or nil.
func (m *model) value(p *process.Path) any {
	object := m.inputs
	if p.Step != "" {
		object = nil
		if cur := m.steps[p.Step].cur; cur != nil {
			object = norm(cur["output"])
		}
	}
	fields, _ := object.(map[string]any)
	return fields[p.Field]
}

// complete records a completion and moves on.
func (m *model) complete(s *mstep, rec map[string]any, next string) {
	m.retire(s)
	m.seq++
	s.cur, s.state, s.doneAt, s.rejecting, s.escalation = rec, "done", m.seq, false, nil
	m.moveOn(s, next)
}

// retire moves what a step recorded into its history.
func (m *model) retire(s *mstep) {
	for _, old := range []map[string]any{s.soft, s.cur} {
		if old != nil {
			s.history = append(s.history, old)
		}
	}
	s.soft, s.cur = nil, nil
}

func (m *model) moveOn(s *mstep, next string) {
	if next != process.Join {
		m.activate(next)
		return
	}
	for i := range m.p.Steps {
		fork := m.steps[m.p.Steps[i].ID]
		for _, entry := range fork.def.Branches {
			if m.branch(entry)[s.def.ID] {
				m.steps[entry].joined = true
				m.join(fork)
				return
			}
		}
	}
}

func (m *model) join(fork *mstep) {
	for _, entry := range fork.def.Branches {
		if !m.steps[entry].joined {
			return
		}
	}
	m.seq++
	fork.state, fork.doneAt = "done", m.seq
	m.moveOn(fork, fork.def.Next)
}

// branch is the set of steps that an entry leads to before `join` (parallel §2).
func (m *model) branch(entry string) map[string]bool {
	in := map[string]bool{}
	for todo := []string{entry}; len(todo) > 0; {
		id := todo[0]
		todo = todo[1:]
		if id == "" || id == process.Join || in[id] {
			continue
		}
		in[id] = true
		def := m.steps[id].def
		todo = append(todo, def.Next, def.OnTimeout)
		for _, r := range def.Routes {
			todo = append(todo, r.To)
		}
	}
	return in
}

// region is what a rejection by a step can touch: its branch, or everything.
func (m *model) region(id string) map[string]bool {
	all := map[string]bool{}
	for i := range m.p.Steps {
		all[m.p.Steps[i].ID] = true
		for _, entry := range m.p.Steps[i].Branches {
			if in := m.branch(entry); in[id] {
				return in
			}
		}
	}
	return all
}

// reject is a rejection into on_reject (spec §3.1, parallel §3).
func (m *model) reject(s *mstep, rec map[string]any) {
	m.retire(s)
	m.seq++
	s.cur, s.doneAt, s.escalation = rec, m.seq, nil
	if s.def.OnReject == "" {
		s.state = "done"
		m.end("ended", "rejected", Args{"by": rec["by"], "at": aTime{}, "note": rec["note"]})
		return
	}
	s.state, s.rejecting = "", true
	target := m.steps[s.def.OnReject]
	mark := target.doneAt
	if target.def.Kind == process.Parallel {
		mark = target.forkedAt
	}
	in := m.region(s.def.ID)
	for id, other := range m.steps {
		if !in[id] || other == s || other == target || other.doneAt <= mark {
			continue
		}
		m.retire(other)
		other.state, other.doneAt, other.rejecting = "", 0, false
	}
	target.soft, target.cur = target.cur, nil
	m.activate(target.def.ID)
}

// fail is a `failed` decision.
func (m *model) fail(s *mstep, by string, note any) {
	m.retire(s)
	m.seq++
	s.cur = Args{"decision": "failed", "note": note, "by": by, "at": aTime{}}
	s.state, s.doneAt, s.rejecting, s.escalation = "failed", m.seq, false, nil
	m.end("ended", "failed", Args{"by": by, "at": aTime{}, "note": note})
}

func (m *model) failByServer(s *mstep) { m.fail(s, "server", aText{}) }

// end closes the run.
func (m *model) end(state string, outcome, ended any) {
	m.state, m.outcome, m.ended = state, outcome, ended
	m.held = nil
	for _, s := range m.steps {
		if s.open() {
			s.state, s.escalation = "cancelled", nil
		}
	}
}

// addHandoff adds to what an attempt leaves behind.
func (s *mstep) addHandoff(key string, value any) {
	h := map[string]any{}
	for k, v := range s.handoff {
		h[k] = v
	}
	h[key] = value
	s.handoff = h
}

// fieldsJSON is how a claim or item shows fields: null or {} where there are none.
func fieldsJSON(fields process.Fields) any {
	if len(fields) == 0 {
		return either{nil, Args{}}
	}
	raw, err := fields.MarshalJSON()
	if err != nil {
		panic(err) // it was parsed from a file
	}
	return norm(json.RawMessage(raw))
}
