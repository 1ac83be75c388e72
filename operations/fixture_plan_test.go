package operations_test

import (
	"fmt"
	"maps"

	"github.com/agentprocess-temporal/server/process"
)

// plan is one way through a process.
type plan struct {
	name string
	// routes are the choices to make; elsewhere the first route is taken.
	routes map[string]string
	// first is what to decide at the first visit of a step, instead of
	// approving or completing; `escalate` for an agent step escalates it, and
	// then has it returned, completed or failed.
	first   map[string]string
	outcome string
}

// plans lists ways through p: to every finish, by every route, through every
// rejection, to `rejected` and to `failed`.
func plans(p *process.Process) []plan {
	var all []plan
	known := map[string]bool{}
	add := func(name string, routes map[string]string, first map[string]string, outcome string) {
		way, finish := follow(p, routes)
		if outcome == "" {
			outcome = finish
		}
		if key := fmt.Sprint(way, first); !known[key] {
			known[key] = true
			all = append(all, plan{name, routes, first, outcome})
		}
	}
	failed := map[process.Kind]bool{}
	for _, s := range p.Steps {
		routes, ok := pathTo(p, s.ID)
		if !ok {
			continue // by a timeout only, of days
		}
		switch s.Kind {
		case process.Finish:
			add("finish "+s.Outcome, routes, nil, s.Outcome)
		case process.Approve:
			outcome := ""
			if s.OnReject == "" {
				outcome = "rejected"
			}
			add("rejected at "+s.ID, routes, map[string]string{s.ID: "rejected"}, outcome)
		}
		for _, r := range s.Routes {
			chosen := maps.Clone(routes)
			chosen[s.ID] = r.To
			add(s.ID+" to "+r.To, chosen, nil, "")
		}
		if failed[s.Kind] {
			continue
		}
		failed[s.Kind] = true
		switch s.Kind {
		case process.Approve, process.Task:
			add("failed at "+s.ID, routes, map[string]string{s.ID: "failed"}, "failed")
		case process.Agent:
			add("escalated and failed", routes, map[string]string{s.ID: "escalate, failed"}, "failed")
			add("escalated and returned", routes, map[string]string{s.ID: "escalate, returned"}, "")
			add("escalated and completed", routes, map[string]string{s.ID: "escalate, completed"}, "")
		}
	}
	return all
}

// pathTo finds the routes to choose so that a run comes to a step.
func pathTo(p *process.Process, target string) (map[string]string, bool) {
	type at struct {
		id     string
		routes map[string]string
	}
	queue := []at{{p.Steps[0].ID, map[string]string{}}}
	for len(queue) > 0 {
		here := queue[0]
		queue = queue[1:]
		if here.id == target {
			return here.routes, true
		}
		s := p.Step(here.id)
		for _, r := range s.Routes {
			routes := maps.Clone(here.routes)
			routes[s.ID] = r.To
			queue = append(queue, at{r.To, routes})
		}
		for _, next := range append([]string{s.Next}, s.Branches...) {
			if p.Step(next) != nil {
				queue = append(queue, at{next, here.routes})
			}
		}
	}
	return nil, false
}

// follow is the way that a run takes by these routes, and its outcome.
func follow(p *process.Process, routes map[string]string) (way []string, outcome string) {
	for id := p.Steps[0].ID; ; {
		s := p.Step(id)
		way = append(way, id)
		switch {
		case s.Kind == process.Finish:
			return way, s.Outcome
		case s.Routes != nil && routes[id] != "":
			id = routes[id]
		case s.Routes != nil:
			id = s.Routes[0].To
		default:
			id = s.Next
		}
	}
}
