package process

import (
	"strconv"
	"strings"
	"unicode"
)

// fields reads the map behind `inputs` or `output` (spec §2.3); what names it in messages.
func (r *report) fields(n *node, what string) Fields {
	if n.shape != mapNode {
		r.add(n.at, what+": expected a map of field names to types, not %s; leave the key out if there are none", n.shape)
		return nil
	}
	fields := make(Fields, 0, len(n.pairs))
	for _, p := range n.pairs {
		if strings.TrimSpace(p.key) == "" || strings.ContainsFunc(p.key, unicode.IsControl) {
			r.add(p.at, "field name %s: use a name that is not blank and has no control characters", quote(p.key))
		}
		f := r.field(p.value, "field "+quote(p.key))
		f.Name = p.key
		fields = append(fields, f)
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}

// field reads one declaration; what names it in messages.
func (r *report) field(n *node, what string) Field {
	f := Field{declared: n.json()}
	switch n.shape {
	case stringNode:
		f.Type = r.fieldType(n, what)
		return f
	case mapNode:
	default:
		r.add(n.at, "%s: expected a type, or a map with type, not %s", what, n.shape)
		return f
	}
	if t := n.get("type"); t == nil {
		r.add(n.at, "%s: add type, one of %s", what, typeNames)
	} else {
		f.Type = r.fieldType(t, what)
	}
	for _, p := range n.pairs {
		switch p.key {
		case "type", "one_of":
		case "description":
			if v, ok := r.text(p.value, what+": description"); ok {
				f.Description = v
			}
		case "optional":
			if what == itemsOf {
				r.add(p.at, "%s: optional is not for items: an item is there or it is not", what)
			}
			f.Optional = r.flag(p.value, what+": optional")
		case "items":
			if f.Type != "" && f.Type != List {
				r.add(p.at, "%s: items is only for type list, not %s", what, f.Type)
			}
			items := r.field(p.value, itemsOf)
			f.Items = &items
		default:
			r.add(p.at, "%s: unknown key %s; a field takes type, description, optional, one_of and items", what, quote(p.key))
		}
	}
	if choices := n.get("one_of"); choices != nil {
		r.oneOf(&f, choices, what)
	}
	return f
}

// itemsOf names a declaration under `items` in messages.
const itemsOf = "items"

const typeNames = "string, number, boolean, date, datetime, list, object, person"

func (r *report) fieldType(n *node, what string) Type {
	switch t := Type(n.text); {
	case n.shape != stringNode:
		r.add(n.at, "%s: type is %s; write one of %s", what, n.shape, typeNames)
		return ""
	case t == String, t == Number, t == Boolean, t == Date, t == Datetime, t == List, t == Object, t == Person:
		return t
	default:
		r.add(n.at, "%s: unknown type %s; write one of %s", what, quote(n.text), typeNames)
		return ""
	}
}

// oneOf reads the allowed values: at least one, each of the field's type, none twice.
func (r *report) oneOf(f *Field, n *node, what string) {
	if n.shape != listNode || len(n.items) == 0 {
		r.add(n.at, "%s: one_of must be a list of at least one value", what)
		return
	}
	seen := map[string]int{}
	f.allowed = map[string]bool{}
	for i, item := range n.items {
		f.OneOf = append(f.OneOf, item.json())
		f.allowed[item.identity()] = true
		if f.Type == "" {
			continue
		}
		// The value is judged without one_of itself.
		plain := Field{Type: f.Type, Items: f.Items}
		var faults []string
		plain.check(&faults, "one_of["+strconv.Itoa(i)+"]", item)
		for _, fault := range faults {
			hint := ""
			if f.Type == List && item.shape != listNode {
				hint = "; to limit what the list holds, put one_of under items"
			}
			r.add(item.at, "%s: %s%s", what, fault, hint)
		}
		key := item.identity()
		if first, ok := seen[key]; ok && len(faults) == 0 {
			r.add(item.at, "%s: one_of[%d] repeats one_of[%d]; list each value once", what, i, first)
		} else if !ok {
			seen[key] = i
		}
	}
}

// text expects a string.
func (r *report) text(n *node, what string) (string, bool) {
	if n.shape != stringNode {
		hint := ""
		if n.shape == numberNode || n.shape == boolNode {
			hint = "; put it in quotes"
		}
		r.add(n.at, "%s: expected text, not %s%s", what, n.shape, hint)
		return "", false
	}
	return n.text, true
}

// say expects a string that is not blank.
func (r *report) say(n *node, what string) (string, bool) {
	s, ok := r.text(n, what)
	if ok && strings.TrimSpace(s) == "" {
		r.add(n.at, "%s: must not be blank", what)
		return "", false
	}
	return s, ok
}

// flag expects a boolean.
func (r *report) flag(n *node, what string) bool {
	if n.shape != boolNode {
		r.add(n.at, "%s: expected true or false", what)
		return false
	}
	return n.text == "true"
}
