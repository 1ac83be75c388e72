package process

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Check says what is wrong with run inputs or with an output (spec §2.3, §6 rule
// 3), every issue at once and in the protocol's words: `output.summary: missing`,
// where prefix is `output`. Declared fields come first, in file order, then the
// undeclared ones by name. Nil means that nothing is wrong.
//
// The value must be a JSON object; an absent one (no bytes) counts as an empty
// object. Numbers are compared by their exact value and never rounded.
func (fs Fields) Check(prefix string, value json.RawMessage) []string {
	if len(value) == 0 {
		value = json.RawMessage("{}")
	}
	var twice []string
	n, err := parseJSON(value, func(path string) { twice = append(twice, prefix+path+": given twice") })
	if err != nil || n.shape != mapNode {
		return []string{prefix + ": expected object"}
	}
	given := make(map[string]*node, len(n.pairs))
	for _, p := range n.pairs {
		given[p.key] = p.value
	}
	var issues []string
	for i := range fs {
		path := prefix + "." + fs[i].Name
		switch v, ok := given[fs[i].Name]; {
		case ok:
			fs[i].check(&issues, path, v)
		case !fs[i].Optional:
			issues = append(issues, path+": missing")
		}
		delete(given, fs[i].Name)
	}
	undeclared := make([]string, 0, len(given))
	for name := range given {
		undeclared = append(undeclared, name)
	}
	slices.Sort(undeclared)
	for _, name := range undeclared {
		issues = append(issues, prefix+"."+name+": not declared")
	}
	return append(issues, twice...)
}

// check appends what is wrong with one value.
func (f *Field) check(issues *[]string, path string, n *node) {
	if !f.Type.holds(n) {
		*issues = append(*issues, path+": expected "+string(f.Type))
		return
	}
	if !f.allows(n) {
		*issues = append(*issues, path+": expected one of "+f.choices())
		return
	}
	if f.Items != nil {
		for i, item := range n.items {
			f.Items.check(issues, path+"["+strconv.Itoa(i)+"]", item)
		}
	}
}

// holds reports whether the value has this type. Null has none.
func (t Type) holds(n *node) bool {
	switch t {
	case String:
		return n.shape == stringNode
	case Number:
		return n.shape == numberNode
	case Boolean:
		return n.shape == boolNode
	case List:
		return n.shape == listNode
	case Object:
		return n.shape == mapNode
	case Date:
		return n.shape == stringNode && wellFormedDate(n.text)
	case Datetime:
		_, ok := ParseDatetime(n.text)
		return n.shape == stringNode && ok
	case Person:
		return n.shape == stringNode && WellFormedPerson(n.text)
	}
	return false
}

// PersonValue is a person that a value names. Path is where, below the object:
// `managerEmail` or `reviewers[1]`.
type PersonValue struct {
	Path  string
	Value string
}

// Persons lists the well-formed persons in an object, inside lists too, in the
// order of declaration, so that a caller can resolve each one. What is not
// well-formed is Check's to report.
func (fs Fields) Persons(value json.RawMessage) []PersonValue {
	n, err := parseJSON(value, func(string) {})
	if err != nil || n.shape != mapNode {
		return nil
	}
	var found []PersonValue
	for i := range fs {
		if v := n.get(fs[i].Name); v != nil {
			found = fs[i].persons(found, fs[i].Name, v)
		}
	}
	return found
}

func (f *Field) persons(found []PersonValue, path string, n *node) []PersonValue {
	if f.Type == Person && Person.holds(n) {
		return append(found, PersonValue{Path: path, Value: n.text})
	}
	if f.Type == List && f.Items != nil {
		for i, item := range n.items {
			found = f.Items.persons(found, path+"["+strconv.Itoa(i)+"]", item)
		}
	}
	return found
}
