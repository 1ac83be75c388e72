package process

// one reads a key that names one step.
func (r *report) one(n *node, what string) []ref {
	s, ok := r.say(n, what)
	if !ok {
		// What was meant is not known: a reference that says nothing.
		return []ref{{at: n.at}}
	}
	return []ref{{to: s, at: n.at}}
}

// next reads `next`: a step id, or the routes the actor chooses from (spec §2.2).
func (r *report) next(d *draft, n *node, what string) {
	if n.shape != listNode {
		if n.shape == mapNode {
			r.add(n.at, "%s: one route needs no map; write its step id", what)
			d.next = []ref{{at: n.at}}
			return
		}
		d.next = r.one(n, what)
		return
	}
	if d.settled() && d.Kind != Agent && d.Kind != Task {
		r.add(n.at, "%s: only agent and task choose from a list; name one step", what)
	} else if len(n.items) < 2 {
		r.add(n.at, "%s: a list has two or more routes; write a single step id without a list", what)
	}
	seen := map[string]bool{}
	for _, item := range n.items {
		to, route := r.route(item, what)
		if seen[to.to] && to.to != "" {
			r.add(to.at, "%s: %s is listed twice; list each route once", what, quote(to.to))
		}
		seen[to.to] = true
		d.next = append(d.next, to)
		d.Routes = append(d.Routes, route)
	}
}

// route reads one entry of a `next` list.
func (r *report) route(n *node, what string) (ref, Route) {
	if n.shape == stringNode {
		to := r.one(n, what)[0]
		return to, Route{To: to.to}
	}
	to := ref{at: n.at}
	if n.shape != mapNode {
		r.add(n.at, "%s: a route is a step id or a map with to and when, not %s", what, n.shape)
		return to, Route{}
	}
	var when string
	if n.get("to") == nil {
		r.add(n.at, "%s: add to, the step this route leads to", what)
	}
	for _, e := range n.pairs {
		switch e.key {
		case "to":
			to = r.one(e.value, what+": to")[0]
		case "when":
			when, _ = r.say(e.value, what+": when")
		default:
			r.add(e.at, "%s: unknown key %s; a route takes to and when", what, quote(e.key))
		}
	}
	return to, Route{To: to.to, When: when}
}

// branches reads the value of `parallel` (parallel profile §1).
func (r *report) branches(d *draft, n *node) {
	if n.shape != listNode || len(n.items) < 2 {
		r.add(n.at, "%s: parallel must be a list of two or more steps, the first of each branch", d.label)
		if n.shape != listNode {
			d.branches = []ref{{at: n.at}}
			return
		}
	}
	seen := map[string]bool{}
	for _, item := range n.items {
		entry := r.one(item, d.label+": parallel")[0]
		if seen[entry.to] && entry.to != "" {
			r.add(entry.at, "%s: parallel lists %s twice; list each branch once", d.label, quote(entry.to))
			continue
		}
		seen[entry.to] = true
		d.branches = append(d.branches, entry)
		d.Branches = append(d.Branches, entry.to)
	}
}
