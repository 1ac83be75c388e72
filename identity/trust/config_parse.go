package trust

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"gopkg.in/yaml.v3"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/internal/strictyaml"
	"github.com/agentprocess-temporal/server/identity/jwks"
)

// ConfigError lists everything that is wrong with a file.
type ConfigError struct {
	// Issues are in file order, such as "line 4: issuers[0].issuer: …".
	Issues []string
}

// Error implements error.
func (e *ConfigError) Error() string { return "identity: " + strings.Join(e.Issues, "; ") }

// Load reads a file; see [ParseConfig].
func Load(path string) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := ParseConfig(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ParseConfig reads the YAML of a file of trusted issuers. It takes nothing that
// it does not know; the error is a *[ConfigError] with every problem at once.
func ParseConfig(data []byte) (*Config, error) {
	if len(data) > MaxConfigBytes {
		return nil, &ConfigError{Issues: []string{fmt.Sprintf("larger than %d bytes", MaxConfigBytes)}}
	}
	p := &parser{c: &Config{}}
	issues := strictyaml.Read(data, func(r *strictyaml.Reader, root *yaml.Node) {
		p.Reader = r
		p.config(root)
	})
	if len(issues) > 0 {
		return nil, &ConfigError{Issues: issues}
	}
	return p.c, nil
}

type parser struct {
	*strictyaml.Reader
	c *Config
}

func (p *parser) config(n *yaml.Node) {
	f := p.Mapping(n, "", "resource", "people", "issuers", "rate")
	if f == nil {
		return
	}
	if v, ok := f["resource"]; !ok {
		p.Report(n, "resource", "missing")
	} else {
		p.c.Resource = p.address(v, "resource")
	}
	p.people(f["people"])
	p.rate(f["rate"])
	if f["issuers"] == nil {
		p.Report(n, "issuers", "missing")
		return
	}
	list := p.List(f["issuers"], "issuers")
	if len(list) == 0 {
		p.Report(f["issuers"], "issuers", "must have at least one")
	}
	for i, v := range list {
		p.issuer(v, fmt.Sprintf("issuers[%d]", i))
	}
	p.together(list)
}

func (p *parser) people(n *yaml.Node) {
	policy := identity.Policy{From: identity.Both, AnyGroup: true}
	if n != nil {
		f := p.Mapping(n, "people", "from", "persons", "groups")
		policy.From = identity.Source(p.oneOf(f["from"], "people.from", string(identity.Both), string(identity.Claims), string(identity.Listed)))
		policy.Open = p.oneOf(f["persons"], "people.persons", "strict", "open") == "open"
		policy.AnyGroup = p.oneOf(f["groups"], "people.groups", "any", "listed") == "any"
	}
	if policy.From == identity.Listed {
		policy.AnyGroup = false
	}
	p.c.People = policy
}

// oneOf reads one of a few words; left out, it is the first.
func (p *parser) oneOf(n *yaml.Node, at string, words ...string) string {
	if n == nil {
		return words[0]
	}
	s, ok := p.Text(n, at)
	if ok && !slices.Contains(words, s) {
		p.Report(n, at, "must be one of %s", strings.Join(words, ", "))
	}
	return s
}

func (p *parser) rate(n *yaml.Node) {
	p.c.Rate = DefaultRate
	if n == nil {
		return
	}
	f := p.Mapping(n, "rate", "per_second", "burst")
	if v := f["per_second"]; v != nil {
		x, err := strconv.ParseFloat(v.Value, 64)
		if v.Kind != yaml.ScalarNode || err != nil || !(x > 0 && x <= 1e6) {
			p.Report(v, "rate.per_second", "must be a number above 0")
		}
		p.c.Rate.PerSecond = x
	}
	if v := f["burst"]; v != nil {
		x, err := strconv.Atoi(v.Value)
		if v.Kind != yaml.ScalarNode || err != nil || x < 1 || x > 1e6 {
			p.Report(v, "rate.burst", "must be a whole number of at least 1")
		}
		p.c.Rate.Burst = x
	}
}

func (p *parser) issuer(n *yaml.Node, at string) {
	f := p.Mapping(n, at, "issuer", "keys", "audiences", "algorithms", "skew", "organization", "claims", "group_names",
		"require_verified_email", "required_scopes", "human_clients", "agents", "unlisted_agents", "operators", "publishers")
	if f == nil {
		return
	}
	i := Issuer{
		Algorithms: DefaultAlgorithms(), Skew: identity.Skew,
		VerifiedEmail:  p.Flag(f["require_verified_email"], at+".require_verified_email"),
		RequiredScopes: p.TextList(f["required_scopes"], at+".required_scopes", wrongScope),
		HumanClients:   p.TextList(f["human_clients"], at+".human_clients", wrongClient),
		GroupNames:     p.Texts(f["group_names"], at+".group_names"),
		Operators:      p.grant(f["operators"], at+".operators"),
		Publishers:     p.grant(f["publishers"], at+".publishers"),
	}
	if v := f["issuer"]; v == nil {
		p.Report(n, at+".issuer", "missing")
	} else {
		i.URL = p.address(v, at+".issuer")
	}
	if v := f["keys"]; v != nil {
		i.KeysURI = p.address(v, at+".keys")
	}
	for id, name := range i.GroupNames {
		if wrong := identity.WrongGroup(name); wrong != "" {
			p.Report(f["group_names"], at+".group_names."+id, "%s", wrong)
		}
	}
	if v := f["audiences"]; v != nil {
		if i.Audiences = p.TextList(v, at+".audiences", wrongClient); len(i.Audiences) == 0 {
			p.Report(v, at+".audiences", "must have at least one; leave it out for the resource")
		}
	} else {
		i.Audiences = []string{p.c.Resource}
	}
	if v := f["algorithms"]; v != nil {
		i.Algorithms = nil
		for _, s := range p.TextList(v, at+".algorithms", wrongAlgorithm) {
			i.Algorithms = append(i.Algorithms, jose.SignatureAlgorithm(s))
		}
		if len(i.Algorithms) == 0 {
			p.Report(v, at+".algorithms", "must have at least one; leave it out for the default")
		}
	}
	if v := f["skew"]; v != nil {
		if s, ok := p.Text(v, at+".skew"); ok {
			d, err := time.ParseDuration(s)
			if err != nil || d < 0 || d > maxSkew {
				p.Report(v, at+".skew", "must be a duration of at most %s, such as 30s", maxSkew)
			}
			i.Skew = d
		}
	}
	p.organization(n, f["organization"], at+".organization", &i)
	p.claims(f["claims"], at+".claims", &i)
	p.agents(f["agents"], at+".agents", &i)
	p.unlisted(f["unlisted_agents"], at+".unlisted_agents", &i)
	p.c.Issuers = append(p.c.Issuers, i)
}

func (p *parser) organization(parent, n *yaml.Node, at string, i *Issuer) {
	switch {
	case n == nil:
		p.Report(parent, at, "missing")
	case n.Kind == yaml.MappingNode:
		f := p.Mapping(n, at, "claim", "values")
		if f["claim"] == nil {
			p.Report(n, at+".claim", "missing")
		} else {
			i.OrgClaim = p.claim(f["claim"], at+".claim")
		}
		i.OrgValues = p.Texts(f["values"], at+".values")
		for value, org := range i.OrgValues {
			if wrong := identity.WrongOrg(org); wrong != "" {
				p.Report(f["values"], at+".values."+value, "%s", wrong)
			}
		}
	default:
		s, ok := p.Text(n, at)
		if wrong := identity.WrongOrg(s); ok && wrong != "" {
			p.Report(n, at, "%s", wrong)
		}
		i.Org = s
	}
}

func (p *parser) claims(n *yaml.Node, at string, i *Issuer) {
	i.Subject, i.Email, i.Groups = Claim{"sub"}, Claim{"email"}, Claim{"groups"}
	if n == nil {
		return
	}
	f := p.Mapping(n, at, "subject", "email", "groups", "client", "scopes")
	for name, into := range map[string]*Claim{
		"subject": &i.Subject, "email": &i.Email, "groups": &i.Groups, "client": &i.Client, "scopes": &i.Scopes,
	} {
		if v := f[name]; v != nil {
			*into = p.claim(v, at+"."+name)
		}
	}
}

// claim reads the name of a claim, or the path to a nested one.
func (p *parser) claim(n *yaml.Node, at string) Claim {
	if n.Kind != yaml.SequenceNode {
		s, ok := p.Text(n, at)
		if ok && s == "" {
			p.Report(n, at, "must not be empty")
		}
		return Claim{s}
	}
	var path Claim
	for i, v := range n.Content {
		if s, ok := p.Text(v, fmt.Sprintf("%s[%d]", at, i)); ok {
			path = append(path, s)
		}
	}
	if len(n.Content) == 0 {
		p.Report(n, at, "must not be empty")
	}
	return path
}

func (p *parser) agents(n *yaml.Node, at string, i *Issuer) {
	i.Agents = map[string]Agent{}
	for k, v := range p.List(n, at) {
		at := fmt.Sprintf("%s[%d]", at, k)
		f := p.Mapping(v, at, "client", "name", "processes")
		if f == nil {
			continue
		}
		if f["client"] == nil {
			p.Report(v, at+".client", "missing")
			continue
		}
		client, ok := p.Text(f["client"], at+".client")
		if !ok {
			continue
		}
		a := Agent{Processes: p.TextList(f["processes"], at+".processes", identity.WrongProcess)}
		if nameNode := f["name"]; nameNode != nil {
			var given bool
			a.Name, given = p.Text(nameNode, at+".name")
			if wrong := identity.WrongAgent(a.Name); given && wrong != "" {
				p.Report(nameNode, at+".name", "%s", wrong)
			} else if given && looksMade(a.Name) {
				p.Report(nameNode, at+".name", "must not end as the names that are made do, in '.' and 16 digits")
			}
		}
		switch _, twice := i.Agents[client]; {
		case twice:
			p.Report(f["client"], at+".client", "%q is listed twice", client)
		case slices.Contains(i.HumanClients, client):
			p.Report(f["client"], at+".client", "%q is a human client: a client is one or the other", client)
		}
		i.Agents[client] = a
	}
}

func (p *parser) unlisted(n *yaml.Node, at string, i *Issuer) {
	if n == nil {
		return
	}
	f := p.Mapping(n, at, "allowed", "processes")
	if f["allowed"] != nil {
		i.RefuseUnlisted = !p.Flag(f["allowed"], at+".allowed")
	}
	i.Unlisted.Processes = p.TextList(f["processes"], at+".processes", identity.WrongProcess)
}

func (p *parser) grant(n *yaml.Node, at string) Grant {
	if n == nil {
		return Grant{}
	}
	f := p.Mapping(n, at, "groups", "scopes")
	return Grant{
		Groups: p.TextList(f["groups"], at+".groups", func(s string) string {
			if s == "" {
				return "must not be empty"
			}
			return ""
		}),
		Scopes: p.TextList(f["scopes"], at+".scopes", wrongScope),
	}
}

// address reads an absolute URL, of HTTPS or of this machine.
func (p *parser) address(n *yaml.Node, at string) string {
	s, ok := p.Text(n, at)
	if !ok {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || !jwks.SafeURL(s) || u.RawQuery != "" || u.Fragment != "" || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "#") {
		p.Report(n, at, "must be an address that starts with https:// (or http:// on this machine), without query and fragment")
	}
	return s
}

func wrongAlgorithm(s string) string {
	if !slices.Contains(asymmetric, jose.SignatureAlgorithm(s)) {
		return fmt.Sprintf("%q is not an algorithm of public keys that is known here", s)
	}
	return ""
}

func wrongClient(s string) string {
	if s == "" || len(s) > 2048 {
		return "must have 1 to 2048 bytes"
	}
	return ""
}

func wrongScope(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || r > '~' }) {
		return "must be one scope: no spaces, quotes or backslashes"
	}
	return ""
}
