package process

import (
	"slices"
	"strings"
)

// graph checks the rules between steps (spec §2.2, parallel profile §2).
type graph struct {
	*report
	process *Process
	steps   []*draft
	// index finds a step by its id; the first one, should two share it.
	index map[string]int
	// fields finds the fields that paths lead to, by step.
	fields map[int]map[string]*Field
	// unsure is set when it is not known where some step leads, so that nothing
	// can be said about which steps are reached.
	unsure bool
	// forks is set when the process has a parallel step, which reserves `join`.
	forks bool
}

// link resolves what steps say of each other and checks the whole.
func (g *graph) link() {
	for i, d := range g.steps {
		g.unsure = g.unsure || d.ID == "" || !d.settled()
		g.forks = g.forks || slices.Contains(d.kinds, string(Parallel))
		if first, twice := g.index[d.ID]; twice && d.ID != "" {
			g.add(d.at, "%s: the id is used twice, first on line %d; ids are unique", d.label, g.steps[first].at.line)
			g.unsure = true
		} else if d.ID != "" {
			g.index[d.ID] = i
		}
	}
	for i, d := range g.steps {
		g.references(d)
		g.defaults(i, d)
	}
	for _, d := range g.steps {
		if d.person != nil {
			d.Person = g.assignee(d.person, d.label+": person")
		}
		if d.until != nil {
			d.Until = g.path(d.until, d.label+": wait_until", Datetime)
		}
	}
	g.cycles()
	if g.forks {
		g.parallel()
	}
	g.reachable()
}

// references checks that every step that is named exists.
func (g *graph) references(d *draft) {
	check := func(refs []ref, key string, join bool) {
		for _, to := range refs {
			_, known := g.index[to.to]
			switch {
			case to.to == "":
				g.unsure = true // reported where it was read
			case to.to == Join && g.forks:
				if !join {
					g.add(to.at, "%s: %s cannot be join, which only ends a branch; name a step", d.label, key)
				}
			case !known && to.to == Join:
				g.add(to.at, "%s: %s names no step: there is no step \"join\", and join ends a branch of a parallel step only", d.label, key)
				g.unsure = true
			case !known:
				g.add(to.at, "%s: %s names no step: there is no step %s", d.label, key, quote(to.to))
				g.unsure = true
			}
		}
	}
	check(d.next, "next", true)
	check(d.onTimeout, "on_timeout", true)
	check(d.onReject, "on_reject", false)
	check(d.branches, "parallel", false)
}

// defaults fills in what the file leaves out.
func (g *graph) defaults(i int, d *draft) {
	if len(d.next) == 0 && !d.named && d.settled() && d.Kind != Finish {
		if i+1 < len(g.steps) {
			to := g.steps[i+1].ID
			if g.index[to] != i+1 {
				to = "" // an id used twice, or none: it does not name that step
			}
			d.next = []ref{{to: to, at: d.at}}
		} else {
			g.add(d.at, "%s: the last step must name next, or be a finish", d.label)
			g.unsure = true
		}
	}
	if len(d.next) > 0 && d.Routes == nil {
		d.Next = d.next[0].to
	}
	if len(d.onReject) > 0 {
		d.OnReject = d.onReject[0].to
	}
	switch {
	case len(d.onTimeout) > 0:
		d.OnTimeout = d.onTimeout[0].to
	case !d.Timeout.IsZero():
		d.OnTimeout = d.Next
	}
}

// onward are the steps that a step leads to by next and on_timeout.
func (g *graph) onward(i int) []edge {
	d := g.steps[i]
	var out []edge
	for _, refs := range [][]ref{d.next, d.onTimeout} {
		for _, to := range refs {
			if to.to == Join && g.forks {
				continue
			}
			if j, ok := g.index[to.to]; ok {
				out = append(out, edge{from: i, to: j, at: to.at})
			}
		}
	}
	return out
}

// edge leads from one step to another, said at a place in the file.
type edge struct {
	from, to int
	at       at
}

// cycles reports each circle of next and on_timeout, at the place that leads back.
func (g *graph) cycles() {
	const white, grey, black = 0, 1, 2
	colour := make([]int, len(g.steps))
	depth := make([]int, len(g.steps)) // where a grey step stands on the stack
	for start := range g.steps {
		if colour[start] != white {
			continue
		}
		// A walk with its own stack: a file may have very many steps in a row.
		type frame struct {
			edge  edge // that led here
			edges []edge
		}
		stack := []frame{{edge: edge{to: start}, edges: g.onward(start)}}
		colour[start] = grey
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if len(top.edges) == 0 {
				colour[top.edge.to] = black
				stack = stack[:len(stack)-1]
				continue
			}
			e := top.edges[0]
			top.edges = top.edges[1:]
			switch colour[e.to] {
			case white:
				colour[e.to] = grey
				depth[e.to] = len(stack)
				stack = append(stack, frame{edge: e, edges: g.onward(e.to)})
			case grey:
				circle := []edge{e}
				for _, f := range stack[depth[e.to]+1:] {
					if circle = append(circle, f.edge); len(circle) > longest {
						break
					}
				}
				g.circle(circle)
			}
		}
	}
}

// longest is how many edges of a circle are looked at and named, so that many
// long circles cost no more than many short ones.
const longest = 20

// circle reports one cycle, given as its first edges in order. It is reported
// at an edge that leads back in the file, as the author will want to change that.
func (g *graph) circle(edges []edge) {
	back := max(0, slices.IndexFunc(edges, func(e edge) bool { return e.to <= e.from }))
	cut := len(edges) > longest
	if !cut {
		edges = slices.Concat(edges[back:], edges[:back])
		back = 0
	}
	names := make([]string, 0, len(edges)+2)
	for _, e := range edges[back:] {
		names = append(names, g.steps[e.from].ID)
	}
	if cut {
		names = append(names, "…")
	}
	e := edges[back]
	names = append(names, g.steps[e.from].ID)
	g.add(e.at, "%s: this leads back in a circle: %s; only on_reject goes back", g.steps[e.from].label, strings.Join(names, " → "))
}

// reachable reports steps that no run can come to.
func (g *graph) reachable() {
	if g.unsure || len(g.steps) == 0 {
		return
	}
	seen := make([]bool, len(g.steps))
	seen[0] = true
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		visit := func(j int) {
			if !seen[j] {
				seen[j] = true
				queue = append(queue, j)
			}
		}
		for _, e := range g.onward(i) {
			visit(e.to)
		}
		for _, to := range slices.Concat(g.steps[i].onReject, g.steps[i].branches) {
			if j, ok := g.index[to.to]; ok {
				visit(j)
			}
		}
	}
	for i, d := range g.steps {
		if !seen[i] {
			g.add(d.at, "%s: no step leads here from the first one; name it in a next, or remove it", d.label)
		}
	}
}
