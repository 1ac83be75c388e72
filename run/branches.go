package run

import "github.com/agentprocess-temporal/server/process"

// branch lists the steps of the branch with this entry (parallel profile §2).
func (r *Run) branch(entry string) []string {
	ids := []string{entry}
	seen := map[string]bool{entry: true}
	for i := 0; i < len(ids); i++ {
		for _, to := range successors(r.processStep(ids[i])) {
			if to != process.Join && !seen[to] {
				seen[to] = true
				ids = append(ids, to)
			}
		}
	}
	return ids
}

// forkOf returns the parallel step that a branch step belongs to, or nil.
func (r *Run) forkOf(id string) *process.Step {
	for i := range r.Process.Steps {
		step := &r.Process.Steps[i]
		for _, entry := range step.Branches {
			for _, member := range r.branch(entry) {
				if member == id {
					return step
				}
			}
		}
	}
	return nil
}

// branchOf returns the steps of the branch that a step is in, or nil.
func (r *Run) branchOf(id string) map[string]bool {
	fork := r.forkOf(id)
	if fork == nil {
		return nil
	}
	for _, entry := range fork.Branches {
		members := map[string]bool{}
		for _, member := range r.branch(entry) {
			members[member] = true
		}
		if members[id] {
			return members
		}
	}
	return nil
}

// successors lists where a step can go by `next` and `on_timeout`.
func successors(step *process.Step) []string {
	var to []string
	if step.Next != "" {
		to = append(to, step.Next)
	}
	for _, route := range step.Routes {
		to = append(to, route.To)
	}
	if step.OnTimeout != "" {
		to = append(to, step.OnTimeout)
	}
	return to
}
