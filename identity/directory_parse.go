package identity

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// MaxDirectoryBytes bounds a directory file.
const MaxDirectoryBytes = 4 << 20

// DirectoryError lists everything that is wrong with a directory file.
type DirectoryError struct {
	// Issues are in file order, such as "line 4: people[1].email: …".
	Issues []string
}

// Error implements error.
func (e *DirectoryError) Error() string { return "directory: " + strings.Join(e.Issues, "; ") }

// Load reads a directory file. What is wrong with its content is a
// *[DirectoryError].
func Load(path string) (*Directory, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	data, err := io.ReadAll(io.LimitReader(f, MaxDirectoryBytes+1))
	if err != nil {
		return nil, err
	}
	d, err := ParseDirectory(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// ParseDirectory reads the YAML of a directory: `organization`, `agents` (a
// list of names), `people` (each with `email`, and optionally `groups`,
// `operator`, `publisher`) and `groups` (ids of groups, also those that nobody
// is in yet). Nothing else is taken. The error is a *[DirectoryError] with every
// problem at once.
func ParseDirectory(data []byte) (*Directory, error) {
	if len(data) > MaxDirectoryBytes {
		return nil, &DirectoryError{Issues: []string{fmt.Sprintf("larger than %d bytes", MaxDirectoryBytes)}}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &DirectoryError{Issues: []string{"the file is empty"}}
		}
		return nil, &DirectoryError{Issues: []string{err.Error()}}
	}
	p := &parser{d: &Directory{byMail: map[string]int{}, groups: map[string]bool{}}}
	p.directory(doc.Content[0])
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, &DirectoryError{Issues: []string{err.Error()}}
	default:
		p.report(&more, "", "the file holds more than one document")
	}
	if len(p.issues) > 0 {
		return nil, &DirectoryError{Issues: p.inFileOrder()}
	}
	return p.d, nil
}

// parser walks the nodes itself rather than decode into a struct: so each issue
// has its line and our words, a scalar has the type it is written with (`yes` is
// no boolean), and one problem hides no other.
type parser struct {
	d      *Directory
	issues []issue
}

type issue struct {
	line int
	text string
}

func (p *parser) inFileOrder() []string {
	slices.SortStableFunc(p.issues, func(a, b issue) int { return a.line - b.line })
	out := make([]string, len(p.issues))
	for i, is := range p.issues {
		out[i] = fmt.Sprintf("line %d: %s", is.line, is.text)
	}
	return out
}

func (p *parser) report(n *yaml.Node, at, format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if at != "" {
		msg = at + ": " + msg
	}
	p.issues = append(p.issues, issue{n.Line, msg})
}

func (p *parser) directory(n *yaml.Node) {
	f := p.mapping(n, "", "organization", "agents", "people", "groups")
	if f == nil {
		return
	}
	if v, ok := f["organization"]; !ok {
		p.report(n, "organization", "missing")
	} else if s, ok := p.text(v, "organization"); ok {
		if !orgPattern.MatchString(s) {
			p.report(v, "organization", "must be %s", orgForm)
		}
		p.d.org = s
	}
	agents := map[string]bool{}
	for i, v := range p.list(f["agents"], "agents") {
		at := fmt.Sprintf("agents[%d]", i)
		s, ok := p.text(v, at)
		switch {
		case !ok:
		case !agentPattern.MatchString(s):
			p.report(v, at, "must be %s", agentForm)
		case s == serverSubject:
			p.report(v, at, "%q names the server itself in a run's record", s)
		case agents[s]:
			p.report(v, at, "%q is listed twice", s)
		default:
			agents[s] = true
			p.d.agents = append(p.d.agents, s)
		}
	}
	for _, g := range p.groupList(f["groups"], "groups") {
		p.d.groups[g] = true
	}
	for i, v := range p.list(f["people"], "people") {
		p.person(v, fmt.Sprintf("people[%d]", i))
	}
}

func (p *parser) person(n *yaml.Node, at string) {
	f := p.mapping(n, at, "email", "groups", "operator", "publisher")
	if f == nil {
		return
	}
	e := Entry{
		Groups:    p.groupList(f["groups"], at+".groups"),
		Operator:  p.flag(f["operator"], at+".operator"),
		Publisher: p.flag(f["publisher"], at+".publisher"),
	}
	for _, g := range e.Groups {
		p.d.groups[g] = true
	}
	v, ok := f["email"]
	if !ok {
		p.report(n, at+".email", "missing")
		return
	}
	s, ok := p.text(v, at+".email")
	if !ok {
		return
	}
	if e.Email, ok = NormalizeEmail(s); !ok {
		p.report(v, at+".email", "%q is not an email address", s)
		return
	}
	if _, taken := p.d.byMail[e.Email]; taken {
		p.report(v, at+".email", "%q is listed twice", e.Email)
		return
	}
	p.d.byMail[e.Email] = len(p.d.people)
	p.d.people = append(p.d.people, e)
}

func (p *parser) groupList(n *yaml.Node, at string) []string {
	var out []string
	seen := map[string]bool{}
	for i, v := range p.list(n, at) {
		at := fmt.Sprintf("%s[%d]", at, i)
		s, ok := p.text(v, at)
		switch {
		case !ok:
		case !groupPattern.MatchString(s):
			p.report(v, at, "must be %s", groupForm)
		case reserved(s):
			p.report(v, at, "%q is the operator queue; mark its people with `operator: true`", s)
		case seen[s]:
			p.report(v, at, "%q is listed twice", s)
		default:
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// mapping returns the values of a mapping by key, nil where n is none.
func (p *parser) mapping(n *yaml.Node, at string, known ...string) map[string]*yaml.Node {
	if n.Kind != yaml.MappingNode {
		p.report(n, at, "expected a mapping with %s", strings.Join(known, ", "))
		return nil
	}
	f := make(map[string]*yaml.Node, len(known))
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		isKnown := false
		for _, name := range known {
			isKnown = isKnown || k.Kind == yaml.ScalarNode && k.Value == name
		}
		switch {
		case !isKnown:
			p.report(k, at, "unknown key %q, expected %s", k.Value, strings.Join(known, ", "))
		case f[k.Value] != nil:
			p.report(k, at, "key %q is given twice", k.Value)
		default:
			f[k.Value] = v
		}
	}
	return f
}

// list returns the items of a list; a key left out is an empty one.
func (p *parser) list(n *yaml.Node, at string) []*yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		p.report(n, at, "expected a list; write [] for none")
		return nil
	}
	return n.Content
}

func (p *parser) text(n *yaml.Node, at string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		p.report(n, at, "expected text; put quotes around what reads as a number, date or boolean")
		return "", false
	}
	return n.Value, true
}

func (p *parser) flag(n *yaml.Node, at string) bool {
	if n == nil {
		return false
	}
	// The words are compared, for yaml.v3 also takes `yes` and `on`.
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" && (n.Value == "true" || n.Value == "false") {
		return n.Value == "true"
	}
	p.report(n, at, "expected true or false")
	return false
}
