package process

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"github.com/gowebpki/jcs"
)

// MaxFrontmatter, MaxDepth and MaxExpanded bound a frontmatter: its bytes, the
// nesting of its maps and lists, and its bytes once aliases are written out.
const (
	MaxFrontmatter = 1 << 20
	MaxDepth       = 64
	MaxExpanded    = 4 << 20
)

var namePattern = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

const nameRule = "1 to 64 lower-case letters and digits, with single hyphens between them"

// Parse reads a whole PROCESS.md (spec §2). It returns the process, or nil and
// every issue of the file, sorted by position. It does no I/O and never panics,
// whatever the input. Parse accepts the keys of the parallel and check profiles
// and enforces their publication rules; [Process.Missing] tells whether a server
// can publish the process.
func Parse(src []byte) (*Process, Issues) {
	var r report
	front, body, ok := r.split(src)
	if !ok {
		return nil, r.issues.sorted()
	}
	root := r.yaml(front)
	if root == nil {
		return nil, r.issues.sorted()
	}
	p := r.process(root)
	if len(r.issues) > 0 {
		return nil, r.issues.sorted()
	}
	hash, err := contentHash(root, body)
	if err != nil {
		r.add(at{2, 1}, "the frontmatter has no canonical form: %s", err)
		return nil, r.issues
	}
	p.Body, p.Hash = string(body), hash
	return p, nil
}

// contentHash is SHA-256 over the canonical JSON of the frontmatter, a newline
// and the body as written (spec §6 rule 5).
func contentHash(root *node, body []byte) (string, error) {
	canonical, err := jcs.Transform(root.json())
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write(canonical)
	h.Write([]byte("\n"))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// process reads the frontmatter (spec §2.1).
func (r *report) process(root *node) *Process {
	p := &Process{at: map[string]at{}}
	if root.shape != mapNode {
		r.add(root.at, "the frontmatter must be a map with name, description and steps, not %s", root.shape)
		return p
	}
	for _, key := range []string{"name", "description", "steps"} {
		if root.get(key) == nil {
			r.add(root.at, "add %s to the frontmatter", key)
		}
	}
	var inputs Fields
	var steps *node
	for _, e := range root.pairs {
		switch e.key {
		case "name":
			p.Name = r.name(e.value, "name")
		case "description":
			p.Description, _ = r.say(e.value, "description")
		case "inputs":
			inputs = r.fields(e.value, "inputs")
		case "requires":
			p.Requires = r.requires(e.value)
		case "steps":
			steps = e.value
		default:
			r.add(e.at, "unknown key %s; the frontmatter takes name, description, inputs, requires and steps", quote(e.key))
		}
	}
	p.Inputs = inputs
	if steps != nil {
		r.steps(p, steps)
	}
	return p
}

// name expects what `name` and the names in `requires` must match.
func (r *report) name(n *node, what string) string {
	s, ok := r.text(n, what)
	if ok && (len(s) > 64 || !namePattern.MatchString(s)) {
		r.add(n.at, "%s: %s must be %s", what, quote(s), nameRule)
	}
	return s
}

// requires reads `requires` (spec §2.1).
func (r *report) requires(n *node) *Requires {
	if n.shape != mapNode {
		r.add(n.at, "requires: expected a map with systems, not %s", n.shape)
		return nil
	}
	for _, e := range n.pairs {
		if e.key != "systems" {
			r.add(e.at, "requires: unknown key %s; it takes systems only", quote(e.key))
		}
	}
	systems := n.get("systems")
	switch {
	case systems == nil:
		r.add(n.at, "requires: add systems, a list of names")
		return nil
	case systems.shape != listNode || len(systems.items) == 0:
		r.add(systems.at, "requires: systems must be a list of at least one name")
		return nil
	}
	out := &Requires{}
	seen := map[string]bool{}
	for _, item := range systems.items {
		name := r.name(item, "requires: systems")
		if seen[name] && item.shape == stringNode {
			r.add(item.at, "requires: systems lists %s twice; list it once", quote(name))
		}
		seen[name] = true
		out.Systems = append(out.Systems, name)
	}
	return out
}
