package conformance

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

//go:embed clauses.yaml
var clausesFile []byte

// Clause is one rule of the specification.
type Clause struct {
	Clause string `yaml:"clause"`
	Says   string `yaml:"says"`
	// Checks hold a server to it; a star stands for any rest of a name.
	Checks []string `yaml:"checks"`
	// Unseen is why no client can see whether it is kept.
	Unseen string `yaml:"unseen"`
}

// Clauses are the rules, in the order of the specification.
func Clauses() ([]Clause, error) {
	var all []Clause
	err := yaml.Unmarshal(clausesFile, &all)
	return all, err
}

// EmbeddedChecks are all checks, those of the embedded fixtures included.
func EmbeddedChecks() ([]Check, error) {
	fixtures, err := Embedded()
	if err != nil {
		return nil, err
	}
	return slices.Concat(Checks(), (&Suite{walked: fixtures}).walkChecks()), nil
}

// Names tells whether a clause's list of checks names a check.
func (c *Clause) Names(id string) bool {
	return slices.ContainsFunc(c.Checks, func(name string) bool { return nameMatches(name, id) })
}

// nameMatches compares an id with a name that may have one star.
func nameMatches(name, id string) bool {
	start, end, star := strings.Cut(name, "*")
	if !star {
		return name == id
	}
	return len(id) >= len(start)+len(end) && strings.HasPrefix(id, start) && strings.HasSuffix(id, end)
}

// Coverage is the table of clauses and the checks that hold a server to them.
func Coverage() (string, error) {
	clauses, err := Clauses()
	if err != nil {
		return "", err
	}
	checks, err := EmbeddedChecks()
	if err != nil {
		return "", err
	}
	unseen := 0
	var b strings.Builder
	for _, c := range clauses {
		by := "`" + strings.Join(c.Checks, "`, `") + "`"
		if c.Unseen != "" {
			by, unseen = "not seen by a client: "+c.Unseen, unseen+1
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.Clause, c.Says, by)
	}
	head := fmt.Sprintf("# Coverage\n\nEvery rule of the specification, in our words, and the checks that hold a server to it. Made from\n`clauses.yaml`; `go test ./conformance -run Coverage -update` writes it.\n\n%d rules: %d held by %d checks, %d that no client can see.\n\n| Clause | Rule | Checks |\n|---|---|---|\n",
		len(clauses), len(clauses)-unseen, len(checks), unseen)
	return head + b.String(), nil
}
