package process

import (
	"slices"
	"strconv"
)

// check reads `check`: one yes/no question as text, or a list (check profile §2).
func (r *report) check(n *node, what string) []Question {
	switch n.shape {
	case stringNode:
		ask, _ := r.say(n, what)
		return []Question{{Ask: ask}}
	case listNode:
		if len(n.items) > 0 {
			break
		}
		fallthrough
	default:
		r.add(n.at, "%s: expected a question, or a list of at least one", what)
		return nil
	}
	var out []Question
	for i, item := range n.items {
		inner := what + "[" + strconv.Itoa(i) + "]"
		if item.shape != mapNode {
			r.add(item.at, "%s: a question in a list is a map with ask, not %s", inner, item.shape)
			continue
		}
		out = append(out, r.question(item, inner))
	}
	return out
}

// question reads one question; one_of, levels or neither tells its kind.
func (r *report) question(n *node, what string) Question {
	var q Question
	if n.get("ask") == nil {
		r.add(n.at, "%s: add ask, the question", what)
	}
	oneOf, levels := n.get("one_of"), n.get("levels")
	kind, foreign := "a yes/no question", []string{"unsure", "confidence"}
	switch {
	case oneOf != nil && levels != nil:
		r.add(n.at, "%s: keep one of one_of and levels", what)
		foreign = nil
	case oneOf != nil:
		kind, foreign = "a choice", []string{"fail"}
	case levels != nil:
		kind, foreign = "a rubric", []string{"fail", "unsure"}
	}
	for _, e := range n.pairs {
		switch e.key {
		case "ask":
			q.Ask, _ = r.say(e.value, what+": ask")
		case "pass", "one_of", "levels":
		case "fail", "unsure", "confidence":
			if slices.Contains(foreign, e.key) {
				r.add(e.at, "%s: %s does not go with %s; remove it", what, e.key, kind)
			}
		default:
			r.add(e.at, "%s: unknown key %s; a question takes ask, pass, fail, one_of, unsure, levels and confidence", what, quote(e.key))
		}
	}
	switch {
	case oneOf != nil && levels != nil:
	case oneOf != nil:
		r.choice(&q, n, oneOf, what)
	case levels != nil:
		r.rubric(&q, n, levels, what)
	default:
		q.PassAt = r.share(n.get("pass"), what+": pass")
		q.FailBelow = r.share(n.get("fail"), what+": fail")
		if q.PassAt != nil && q.FailBelow != nil && *q.FailBelow > *q.PassAt {
			r.add(n.get("fail").at, "%s: fail must not be above pass", what)
		}
	}
	if oneOf != nil || levels != nil {
		q.Confidence = r.share(n.get("confidence"), what+": confidence")
	}
	return q
}

// choice reads a question with named answers.
func (r *report) choice(q *Question, n, oneOf *node, what string) {
	if oneOf.shape != mapNode || len(oneOf.pairs) < 2 && !oneOf.lossy {
		r.add(oneOf.at, "%s: one_of must be a map of two or more answer names to what they mean", what)
	}
	for _, e := range oneOf.pairs {
		if e.key == "" {
			r.add(e.at, "%s: one_of: an answer needs a name", what)
		}
		text, _ := r.say(e.value, what+": one_of: "+quote(e.key))
		q.OneOf = append(q.OneOf, Choice{Name: e.key, Text: text})
	}
	if pass := n.get("pass"); pass == nil {
		r.add(n.at, "%s: add pass, the list of answers that pass", what)
	} else if q.PassNames = r.answers(pass, oneOf, what+": pass"); pass.shape == listNode && len(pass.items) == 0 {
		r.add(pass.at, "%s: pass: name at least one answer that passes", what)
	}
	if unsure := n.get("unsure"); unsure != nil {
		q.UnsureNames = r.answers(unsure, oneOf, what+": unsure")
		passes := make(map[string]bool, len(q.PassNames))
		for _, name := range q.PassNames {
			passes[name] = true
		}
		for _, item := range unsure.items {
			if item.shape == stringNode && passes[item.text] {
				r.add(item.at, "%s: %s is in pass and in unsure; keep one", what, quote(item.text))
			}
		}
	}
}

// answers reads a list of names from one_of.
func (r *report) answers(n, oneOf *node, what string) []string {
	if n.shape != listNode {
		r.add(n.at, "%s: expected a list of answer names from one_of, not %s", what, n.shape)
		return nil
	}
	known, seen := map[string]bool{}, map[string]bool{}
	for _, e := range oneOf.pairs {
		known[e.key] = true
	}
	var out []string
	for _, item := range n.items {
		name, ok := r.text(item, what)
		switch {
		case !ok:
		case seen[name]:
			r.add(item.at, "%s: %s is listed twice; list it once", what, quote(name))
		case oneOf.shape == mapNode && !oneOf.lossy && !known[name]:
			r.add(item.at, "%s: %s is not an answer in one_of", what, quote(name))
		default:
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// rubric reads a question with ordered levels.
func (r *report) rubric(q *Question, n, levels *node, what string) {
	if levels.shape != listNode || len(levels.items) < 2 || len(levels.items) > 10 {
		r.add(levels.at, "%s: levels must be a list of 2 to 10 descriptions, worst first", what)
	}
	for _, item := range levels.items {
		text, _ := r.say(item, what+": levels")
		q.Levels = append(q.Levels, text)
	}
	pass := n.get("pass")
	if pass == nil {
		r.add(n.at, "%s: add pass, the number of the lowest level that passes, counted from 0", what)
		return
	}
	for i := range levels.items {
		if pass.shape == numberNode && decimal(pass.text) == decimal(strconv.Itoa(i)) {
			q.PassLevel = i
			return
		}
	}
	if len(levels.items) > 0 || pass.shape != numberNode {
		r.add(pass.at, "%s: pass must be the number of a level, from 0 to %d", what, max(0, len(levels.items)-1))
	}
}

// share reads a number from 0 to 1, if there is one.
func (r *report) share(n *node, what string) *float64 {
	if n == nil {
		return nil
	}
	f, err := strconv.ParseFloat(n.text, 64)
	if n.shape != numberNode || err != nil || f < 0 || f > 1 {
		r.add(n.at, "%s: expected a number from 0 to 1", what)
		return nil
	}
	return &f
}
