package process

import "slices"

// parallel checks the branches (parallel profile §2). A step belongs to the main
// line when it is reached from the first step or from where a parallel step goes
// on, without entering a branch; the branches are what is reached from their
// entries without coming out on the main line.
func (g *graph) parallel() {
	if i, ok := g.index[Join]; ok {
		g.add(g.steps[i].at, "the id join is reserved in a process with a parallel step; rename the step")
	}
	entry := map[int]int{} // entry step → its parallel step
	for i, d := range g.steps {
		for _, to := range d.branches {
			j, ok := g.index[to.to]
			if !ok {
				continue
			}
			if j == i {
				g.add(to.at, "%s: a parallel step is not its own branch; name another step", d.label)
				continue
			}
			if owner, taken := entry[j]; taken {
				g.add(to.at, "%s: the branch %s already belongs to %s; a step is in one branch only", d.label, quote(to.to), g.steps[owner].label)
				continue
			}
			entry[j] = i
		}
	}
	if _, ok := entry[0]; ok {
		g.unsure = true // what the first step should be is not known
		g.add(g.steps[0].at, "%s: the first step cannot be in a branch; begin with a step outside, or with the parallel step", g.steps[0].label)
	}
	main := g.mainLine(entry)
	branch := g.members(entry, main)
	for i, d := range g.steps {
		if b, inside := branch[i]; inside {
			g.inBranch(i, d, b, branch)
		} else {
			g.outside(i, d, branch)
		}
	}
}

// mainLine marks the steps reached without entering a branch. It does not enter
// an entry, nor a step that an entry leads to and that leads to join: such a step
// is meant for a branch, and the step that leads there is the one at fault.
func (g *graph) mainLine(entry map[int]int) []bool {
	entries := make([]int, 0, len(entry))
	for e := range entry {
		entries = append(entries, e)
	}
	entered := g.reach(entries, func(int) bool { return true })
	joins := g.joining()
	return g.reach([]int{0}, func(i int) bool {
		_, isEntry := entry[i]
		return !isEntry && (!entered[i] || !joins[i])
	})
}

// reach marks what the given steps lead to, themselves included, through steps
// that may be entered.
func (g *graph) reach(from []int, enter func(int) bool) []bool {
	seen := make([]bool, len(g.steps))
	var queue []int
	visit := func(i int) {
		if !seen[i] && enter(i) {
			seen[i] = true
			queue = append(queue, i)
		}
	}
	for _, i := range from {
		visit(i)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, e := range g.onward(queue[0]) {
			visit(e.to)
		}
	}
	return seen
}

// joining marks the steps from which join is reached.
func (g *graph) joining() []bool {
	joins := make([]bool, len(g.steps))
	before := make([][]int, len(g.steps))
	var queue []int
	for i, d := range g.steps {
		for _, e := range g.onward(i) {
			before[e.to] = append(before[e.to], i)
		}
		if slices.ContainsFunc(slices.Concat(d.next, d.onTimeout), func(to ref) bool { return to.to == Join }) {
			joins[i] = true
			queue = append(queue, i)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, i := range before[queue[0]] {
			if !joins[i] {
				joins[i] = true
				queue = append(queue, i)
			}
		}
	}
	return joins
}

// members finds the branch, named by its entry, of every step in one. It reports
// a step that two branches reach.
func (g *graph) members(entry map[int]int, main []bool) map[int]int {
	branch := map[int]int{}
	for e := range g.steps {
		if _, isEntry := entry[e]; !isEntry {
			continue
		}
		branch[e] = e
		for queue := []int{e}; len(queue) > 0; queue = queue[1:] {
			for _, to := range g.onward(queue[0]) {
				if _, isEntry := entry[to.to]; isEntry || main[to.to] {
					continue
				}
				if other, taken := branch[to.to]; taken {
					if other != e {
						g.add(to.at, "%s: %s is already in the branch %s; a step is in one branch only", g.steps[to.from].label,
							quote(g.steps[to.to].ID), quote(g.steps[other].ID))
					}
					continue
				}
				branch[to.to] = e
				queue = append(queue, to.to)
			}
		}
	}
	return branch
}

// inBranch checks a step of the branch that begins at b.
func (g *graph) inBranch(i int, d *draft, b int, branch map[int]int) {
	name := quote(g.steps[b].ID)
	if d.Kind == Parallel {
		g.add(d.at, "%s: a branch cannot hold a parallel step; take it out of the branch %s", d.label, name)
	}
	if d.Kind == Finish {
		g.add(d.at, "%s: a branch cannot hold a finish; end the branch %s with next: join", d.label, name)
		return
	}
	if !d.named && d.settled() {
		g.add(d.at, "%s: a step in a branch must name next; add next: join or the next step of the branch %s", d.label, name)
	}
	for _, e := range g.onward(i) {
		// A default is reported above; a step of two branches, where it was found.
		if other, inside := branch[e.to]; (!inside || other != b && e.to == other) && e.at != d.at {
			g.add(e.at, "%s: %s is outside the branch %s; end the branch with join", d.label, quote(g.steps[e.to].ID), name)
		}
	}
	for _, to := range d.onReject {
		if j, ok := g.index[to.to]; ok {
			if other, inside := branch[j]; !inside || other != b {
				g.add(to.at, "%s: on_reject in a branch goes back within it; %s is outside the branch %s", d.label, quote(to.to), name)
			}
		}
	}
}

// outside checks a step that is in no branch.
func (g *graph) outside(i int, d *draft, branch map[int]int) {
	for _, refs := range [][]ref{d.next, d.onTimeout} {
		for _, to := range refs {
			if to.to == Join {
				g.unsure = true
				g.add(to.at, "%s: join ends a branch, and this step is in none; name a step", d.label)
			}
		}
	}
	for _, e := range g.onward(i) {
		if b, inside := branch[e.to]; inside {
			hint := "name a step outside it"
			if !d.named {
				g.unsure = true
				hint = "add next and name a step outside it"
			}
			g.add(e.at, "%s: this leads into the branch %s, which only its parallel step enters; %s", d.label, quote(g.steps[b].ID), hint)
		}
	}
	for _, to := range d.onReject {
		if j, ok := g.index[to.to]; ok {
			if b, inside := branch[j]; inside {
				g.add(to.at, "%s: on_reject leads into the branch %s; go back to its parallel step or to a step before", d.label, quote(g.steps[b].ID))
			}
		}
	}
}
