package run

import "github.com/agentprocess-temporal/server/process"

// layout is what a run asks of its process again and again, worked out once: a
// process may have many thousand steps.
type layout struct {
	process *process.Process
	// at is the place of each step.
	at map[string]int
	// branch is the branch that a step is in; absent outside the branches.
	branch map[string]*branch
}

// branch is one branch of a parallel step (parallel profile §2).
type branch struct {
	fork    *process.Step
	members []string
}

// layout returns the layout of the run's process.
func (r *Run) layout() *layout {
	if r.laidOut != nil && r.laidOut.process == r.Process {
		return r.laidOut
	}
	l := &layout{process: r.Process, at: make(map[string]int, len(r.Process.Steps)), branch: map[string]*branch{}}
	for i := range r.Process.Steps {
		l.at[r.Process.Steps[i].ID] = i
	}
	for i := range r.Process.Steps {
		fork := &r.Process.Steps[i]
		for _, entry := range fork.Branches {
			l.follow(fork, entry)
		}
	}
	r.laidOut = l
	return l
}

// follow finds the steps of the branch with this entry.
func (l *layout) follow(fork *process.Step, entry string) {
	b := &branch{fork: fork, members: []string{entry}}
	l.branch[entry] = b
	for i := 0; i < len(b.members); i++ {
		for _, to := range successors(&l.process.Steps[l.at[b.members[i]]]) {
			if to != process.Join && l.branch[to] == nil {
				l.branch[to] = b
				b.members = append(b.members, to)
			}
		}
	}
}

// processStep returns the declaration of a step, or nil.
func (r *Run) processStep(id string) *process.Step {
	if i, ok := r.layout().at[id]; ok {
		return &r.Process.Steps[i]
	}
	return nil
}

// state returns the state of a step of the process.
func (r *Run) state(id string) *Step {
	i, ok := r.layout().at[id]
	if !ok {
		panic("run: no step " + id) // ids come from the process itself
	}
	return &r.Steps[i]
}

// branchOf returns the branch that a step is in, or nil.
func (r *Run) branchOf(id string) *branch { return r.layout().branch[id] }

// region lists every step of every branch of a parallel step.
func (r *Run) region(fork *process.Step) []string {
	var ids []string
	for _, entry := range fork.Branches {
		ids = append(ids, r.branchOf(entry).members...)
	}
	return ids
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
