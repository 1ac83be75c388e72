package run

import (
	"maps"
	"slices"
)

// Clone returns a copy that shares nothing that a method changes. The process
// and the raw JSON values are shared: nothing changes those.
func (r *Run) Clone() *Run {
	c := *r
	c.Data.Steps = make(map[string]*StepData, len(r.Data.Steps))
	for id, s := range r.Data.Steps {
		d := *s
		d.History = append([]Completion{}, s.History...)
		c.Data.Steps[id] = &d
	}
	c.Bindings = maps.Clone(r.Bindings)
	c.Held = slices.Clone(r.Held)
	c.Judged = slices.Clone(r.Judged)
	c.Requests = slices.Clone(r.Requests)
	c.Outbox = slices.Clone(r.Outbox)
	c.Steps = slices.Clone(r.Steps)
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Claim != nil {
			claim := *s.Claim
			s.Claim = &claim
		}
		if s.Handoff != nil {
			h := *s.Handoff
			s.Handoff = &h
		}
	}
	return &c
}
