package identity

import (
	"fmt"
	"io"
	"os"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentprocess-temporal/server/identity/internal/strictyaml"
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

// ParseDirectory reads the YAML of a directory: `organization`, `agents` (each
// a name, or `name` and the `processes` it is limited to), `people` (each with
// `email`, and optionally `groups`, `operator`, `publisher`) and `groups` (ids
// of groups, also those that nobody is in yet). Nothing else is taken. The error
// is a *[DirectoryError] with every problem at once.
func ParseDirectory(data []byte) (*Directory, error) {
	if len(data) > MaxDirectoryBytes {
		return nil, &DirectoryError{Issues: []string{fmt.Sprintf("larger than %d bytes", MaxDirectoryBytes)}}
	}
	p := &parser{d: &Directory{byMail: map[string]int{}, groups: map[string]bool{}, limits: map[string][]string{}}}
	issues := strictyaml.Read(data, func(r *strictyaml.Reader, root *yaml.Node) {
		p.Reader = r
		p.directory(root)
	})
	if len(issues) > 0 {
		return nil, &DirectoryError{Issues: issues}
	}
	return p.d, nil
}

type parser struct {
	*strictyaml.Reader
	d *Directory
}

func (p *parser) directory(n *yaml.Node) {
	f := p.Mapping(n, "", "organization", "agents", "people", "groups")
	if f == nil {
		return
	}
	if v, ok := f["organization"]; !ok {
		p.Report(n, "organization", "missing")
	} else if s, ok := p.Text(v, "organization"); ok {
		if !orgPattern.MatchString(s) {
			p.Report(v, "organization", "must be %s", orgForm)
		}
		p.d.org = s
	}
	agents := map[string]bool{}
	for i, v := range p.List(f["agents"], "agents") {
		p.agent(v, fmt.Sprintf("agents[%d]", i), agents)
	}
	for _, g := range p.groupList(f["groups"], "groups") {
		p.d.groups[g] = true
	}
	for i, v := range p.List(f["people"], "people") {
		p.person(v, fmt.Sprintf("people[%d]", i))
	}
}

// agent reads a name, or a name and the processes that the agent is limited to.
func (p *parser) agent(n *yaml.Node, at string, known map[string]bool) {
	name := n
	var processes []string
	if n.Kind == yaml.MappingNode {
		f := p.Mapping(n, at, "name", "processes")
		if name = f["name"]; name == nil {
			p.Report(n, at+".name", "missing")
			return
		}
		processes = p.TextList(f["processes"], at+".processes", WrongProcess)
		at += ".name"
	}
	s, ok := p.Text(name, at)
	if !ok {
		return
	}
	switch wrong := WrongAgent(s); {
	case wrong != "":
		p.Report(name, at, "%s", wrong)
	case known[s]:
		p.Report(name, at, "%q is listed twice", s)
	default:
		known[s] = true
		p.d.agents = append(p.d.agents, s)
		if processes != nil {
			p.d.limits[s] = processes
		}
	}
}

func (p *parser) person(n *yaml.Node, at string) {
	f := p.Mapping(n, at, "email", "groups", "operator", "publisher")
	if f == nil {
		return
	}
	e := Entry{
		Groups:    p.groupList(f["groups"], at+".groups"),
		Operator:  p.Flag(f["operator"], at+".operator"),
		Publisher: p.Flag(f["publisher"], at+".publisher"),
	}
	for _, g := range e.Groups {
		p.d.groups[g] = true
	}
	v, ok := f["email"]
	if !ok {
		p.Report(n, at+".email", "missing")
		return
	}
	s, ok := p.Text(v, at+".email")
	if !ok {
		return
	}
	if e.Email, ok = NormalizeEmail(s); !ok {
		p.Report(v, at+".email", "%q is not an email address", s)
		return
	}
	if _, taken := p.d.byMail[e.Email]; taken {
		p.Report(v, at+".email", "%q is listed twice", e.Email)
		return
	}
	p.d.byMail[e.Email] = len(p.d.people)
	p.d.people = append(p.d.people, e)
}

func (p *parser) groupList(n *yaml.Node, at string) []string {
	return p.TextList(n, at, WrongGroup)
}
