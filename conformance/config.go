package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// Config says who the runner may be, and how fixtures get published. See
// docs/conformance.md for an example.
type Config struct {
	// URL of the MCP endpoint; the command line wins over it.
	URL    string `yaml:"url"`
	Agents struct {
		One Identity `yaml:"one"`
		Two Identity `yaml:"two"`
	} `yaml:"agents"`
	People struct {
		// Member and Colleague are in Group; Outsider is in no group that a
		// fixture uses, and no operator. Operator may cancel.
		Member    Identity `yaml:"member"`
		Colleague Identity `yaml:"colleague"`
		Outsider  Identity `yaml:"outsider"`
		Operator  Identity `yaml:"operator"`
	} `yaml:"people"`
	// Group is what every role of every fixture is bound to.
	Group string `yaml:"group"`
	// Other are identities of a second organization.
	Other *struct {
		Agent    Identity `yaml:"agent"`
		Operator Identity `yaml:"operator"`
	} `yaml:"other"`
	// Published says that the fixtures are there.
	Published bool `yaml:"published"`
	// Publish says how to publish a folder.
	Publish *Publish `yaml:"publish"`
}

// Identity is one caller.
type Identity struct {
	Token string `yaml:"token"`
	// Person is how the person is written as a value of type person; for people.
	Person string `yaml:"person"`
	// ID is how the server names the caller in `by`. Without it, the runner
	// starts a run to find out.
	ID string `yaml:"id"`
}

// Publish is a command that publishes a folder with a PROCESS.md and succeeds
// only if that is published. In its words {dir} and {name} stand for the folder
// and the process, and the word {roles} for Role once for each role, in which
// {role} and {group} stand.
type Publish struct {
	Command []string `yaml:"command"`
	Role    []string `yaml:"role"`
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// LoadConfig reads a configuration. ${NAME} anywhere in it is the environment
// variable of that name.
func LoadConfig(path string) (*Config, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := ParseConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// unknownKey is how the library says that it does not know a key.
var unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+`)

// plain puts an error of the YAML library into one line, without names of types.
func plain(err error) string {
	var many *yaml.TypeError
	if !errors.As(err, &many) {
		return oneLine(err)
	}
	lines := make([]string, len(many.Errors))
	for i, each := range many.Errors {
		lines[i] = unknownKey.ReplaceAllString(each, `unknown key "$1"`)
	}
	return strings.Join(lines, "; ")
}

// ParseConfig reads a configuration and tells everything that it lacks.
func ParseConfig(raw []byte) (*Config, error) {
	var missing []string
	raw = variable.ReplaceAllFunc(raw, func(m []byte) []byte {
		name := string(m[2 : len(m)-1])
		value, ok := os.LookupEnv(name)
		if !ok {
			missing = append(missing, "the environment has no "+name)
		}
		return []byte(value)
	})
	var c Config
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil {
		return nil, errors.New(plain(err))
	}
	need := func(what, value string) {
		if strings.TrimSpace(value) == "" {
			missing = append(missing, what+" is missing")
		}
	}
	need("agents.one.token", c.Agents.One.Token)
	need("agents.two.token", c.Agents.Two.Token)
	for name, p := range map[string]Identity{
		"member": c.People.Member, "colleague": c.People.Colleague, "outsider": c.People.Outsider, "operator": c.People.Operator,
	} {
		need("people."+name+".token", p.Token)
		need("people."+name+".person", p.Person)
	}
	need("group", c.Group)
	if c.Other != nil {
		need("other.agent.token", c.Other.Agent.Token)
		need("other.operator.token", c.Other.Operator.Token)
	}
	switch {
	case c.Published && c.Publish != nil:
		missing = append(missing, "published and publish exclude each other")
	case !c.Published && c.Publish == nil:
		missing = append(missing, "say published: true, or how to publish")
	case c.Publish != nil && len(c.Publish.Command) == 0:
		missing = append(missing, "publish.command is missing")
	}
	if len(missing) > 0 {
		return nil, errors.New(strings.Join(sorted(missing), "; "))
	}
	return &c, nil
}
