package run

import "github.com/agentprocess-temporal/server/process"

// layout is what a run asks of its process again and again, worked out once: a
// process may have many thousand steps.
type layout struct {
	process *process.Process
	// at is the place of each step.
	at map[string]int
	// fork is the parallel step that a step is in a branch of, and branch the
	// entry of that branch; absent outside the branches.
	fork   map[string]*process.Step
	branch map[string]string
	// region are the places of all branch steps of each parallel step.
	region map[string][]int
}

// layout returns the layout of the run's process.
func (r *Run) layout() *layout {
	if r.laidOut != nil && r.laidOut.process == r.Process {
		return r.laidOut
	}
	l := &layout{
		process: r.Process, at: make(map[string]int, len(r.Process.Steps)),
		fork: map[string]*process.Step{}, branch: map[string]string{}, region: map[string][]int{},
	}
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

// follow finds the steps of the branch with this entry (parallel profile §2).
func (l *layout) follow(fork *process.Step, entry string) {
	for found := []string{entry}; len(found) > 0; found = found[1:] {
		id := found[0]
		if id == process.Join || l.fork[id] != nil {
			continue
		}
		i := l.at[id]
		l.fork[id], l.branch[id] = fork, entry
		l.region[fork.ID] = append(l.region[fork.ID], i)
		found = append(found, successors(&l.process.Steps[i])...)
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
