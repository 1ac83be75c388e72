package process

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// parsePath reads `inputs.<field>` or `steps.<id>.output.<field>` (spec §2.2).
func parsePath(s string) (Path, bool) {
	if field, ok := strings.CutPrefix(s, "inputs."); ok {
		return Path{Field: field}, field != ""
	}
	rest, ok := strings.CutPrefix(s, "steps.")
	if !ok {
		return Path{}, false
	}
	id, field, ok := strings.Cut(rest, ".output.")
	return Path{Step: id, Field: field}, ok && field != "" && id != "" && !strings.Contains(id, ".")
}

// path reads a path and checks that it leads to a declared field of this type.
func (g *graph) path(n *node, what string, want Type) *Path {
	p, ok := parsePath(n.text)
	if !ok {
		g.add(n.at, "%s: %s is not a path; write inputs.<field> or steps.<id>.output.<field>", what, quote(n.text))
		return nil
	}
	fields, where := g.process.Inputs, "inputs"
	from := -1
	if p.Step != "" {
		i, known := g.index[p.Step]
		if !known {
			g.add(n.at, "%s: there is no step %s", what, quote(p.Step))
			return nil
		}
		fields, where, from = g.steps[i].Output, "the output of step "+quote(p.Step), i
	}
	switch f := g.field(from, fields, p.Field); {
	case f == nil:
		g.add(n.at, "%s: %s has no field %s; declare it with type %s", what, where, quote(p.Field), want)
		return nil
	case f.Type != want && f.Type != "":
		g.add(n.at, "%s: %s is declared as %s; the path must lead to a %s", what, quote(n.text), f.Type, want)
		return nil
	}
	return &p
}

// field finds a field of a step, or of the inputs where step is -1. Files with
// very many paths into very many fields need the index.
func (g *graph) field(step int, fields Fields, name string) *Field {
	index, ok := g.fields[step]
	if !ok {
		index = make(map[string]*Field, len(fields))
		for i := range fields {
			index[fields[i].Name] = &fields[i]
		}
		g.fields[step] = index
	}
	return index[name]
}

// assignee reads the value of `person`. A dot makes it a path.
func (g *graph) assignee(n *node, what string) *Assignee {
	switch {
	case n.text == "initiator":
		return &Assignee{Initiator: true}
	case strings.Contains(n.text, "."):
		if p := g.path(n, what, Person); p != nil {
			return &Assignee{Path: p}
		}
		return nil
	}
	if utf8.RuneCountInString(n.text) > 64 || strings.ContainsFunc(n.text, func(c rune) bool {
		return c == '=' || unicode.IsSpace(c) || !unicode.IsGraphic(c)
	}) {
		g.add(n.at, "%s: %s is not a role name; use 1 to 64 characters without white space, dot or equals sign", what, quote(n.text))
	}
	return &Assignee{Role: n.text}
}
