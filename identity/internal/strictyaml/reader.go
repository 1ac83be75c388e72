package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Reader collects the problems of one file while its nodes are read.
type Reader struct{ problems []problem }

type problem struct {
	line int
	text string
}

// Read hands the one document of a file to walk, and returns every problem that
// walk reported, in file order, such as "line 4: people[1].email: …".
func Read(data []byte, walk func(r *Reader, root *yaml.Node)) []string {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return []string{"the file is empty"}
		}
		return []string{err.Error()}
	}
	r := &Reader{}
	walk(r, doc.Content[0])
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return []string{err.Error()}
	default:
		r.Report(&more, "", "the file holds more than one document")
	}
	return r.inFileOrder()
}

func (r *Reader) inFileOrder() []string {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b problem) int { return a.line - b.line })
	out := make([]string, len(r.problems))
	for i, p := range r.problems {
		out[i] = fmt.Sprintf("line %d: %s", p.line, p.text)
	}
	return out
}

// Report notes a problem of a node; at is its path, empty for the whole file.
func (r *Reader) Report(n *yaml.Node, at, format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if at != "" {
		msg = at + ": " + msg
	}
	r.problems = append(r.problems, problem{n.Line, msg})
}

// Mapping returns the values of a mapping by key, nil where n is none. Keys that
// are not known, and keys given twice, are reported.
func (r *Reader) Mapping(n *yaml.Node, at string, known ...string) map[string]*yaml.Node {
	if n.Kind != yaml.MappingNode {
		r.Report(n, at, "expected a mapping with %s", strings.Join(known, ", "))
		return nil
	}
	f := make(map[string]*yaml.Node, len(known))
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode || !slices.Contains(known, k.Value):
			r.Report(k, at, "unknown key %q, expected %s", k.Value, strings.Join(known, ", "))
		case f[k.Value] != nil:
			r.Report(k, at, "key %q is given twice", k.Value)
		default:
			f[k.Value] = v
		}
	}
	return f
}

// Texts reads a mapping of any text keys to texts; nil stands for an empty one.
func (r *Reader) Texts(n *yaml.Node, at string) map[string]string {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.Report(n, at, "expected a mapping")
		return nil
	}
	out := make(map[string]string, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		key, ok := r.Text(k, at)
		if !ok {
			continue
		}
		value, ok := r.Text(v, at+"."+key)
		if _, twice := out[key]; twice {
			r.Report(k, at, "key %q is given twice", key)
		} else if ok {
			out[key] = value
		}
	}
	return out
}

// List returns the items of a list; a key left out is an empty one.
func (r *Reader) List(n *yaml.Node, at string) []*yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.Report(n, at, "expected a list; write [] for none")
		return nil
	}
	return n.Content
}

// TextList reads a list of different texts, each of which check takes: it
// returns what is wrong with one, empty for nothing. A list that is given is
// never nil.
func (r *Reader) TextList(n *yaml.Node, at string, check func(string) string) []string {
	if n == nil {
		return nil
	}
	out := []string{}
	seen := map[string]bool{}
	for i, v := range r.List(n, at) {
		at := fmt.Sprintf("%s[%d]", at, i)
		s, ok := r.Text(v, at)
		if !ok {
			continue
		}
		if wrong := check(s); wrong != "" {
			r.Report(v, at, "%s", wrong)
		} else if seen[s] {
			r.Report(v, at, "%q is listed twice", s)
		} else {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// Text reads a text; what reads as a number, date or boolean is none.
func (r *Reader) Text(n *yaml.Node, at string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		r.Report(n, at, "expected text; put quotes around what reads as a number, date or boolean")
		return "", false
	}
	return n.Value, true
}

// Flag reads true or false; a key left out is false.
func (r *Reader) Flag(n *yaml.Node, at string) bool {
	if n == nil {
		return false
	}
	// The words are compared, for yaml.v3 also takes `yes` and `on`.
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" && (n.Value == "true" || n.Value == "false") {
		return n.Value == "true"
	}
	r.Report(n, at, "expected true or false")
	return false
}
