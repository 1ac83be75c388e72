package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/agentprocess-temporal/server/identity"
)

// claims are those of a genuine token.
type claims map[string]any

// caller says who a genuine token is of. It is a person only if the token was
// issued to a human client, and to a person by it; everything else is an agent,
// which has none of a person's groups and powers.
func (s *source) caller(c claims) (identity.Caller, error) {
	// A token bound to a key is for who proves that key (RFC 7800); nothing here
	// asks for the proof.
	if _, bound := c["cnf"]; bound {
		return identity.Caller{}, errRefused
	}
	client, ok := c.client(s.Client)
	if !ok {
		return identity.Caller{}, errRefused
	}
	org, ok := s.org(c)
	subject, hasSubject := c.text(s.Subject)
	if !ok || !hasSubject || subject == "" {
		return identity.Caller{}, errRefused
	}
	scopes := c.scopes(s.Scopes)
	for _, required := range s.RequiredScopes {
		if !slices.Contains(scopes, required) {
			return identity.Caller{}, &identity.ScopeError{Scopes: s.RequiredScopes}
		}
	}
	email, hasEmail := s.email(c)
	byItself := c.byItself(client, subject)
	// Someone who acts for the subject (RFC 8693 §4.1) is not the subject.
	_, delegated := c["act"]
	if slices.Contains(s.HumanClients, client) && !byItself && !delegated {
		if !hasEmail {
			return identity.Caller{}, errRefused
		}
		return s.person(org, client, email, c, scopes)
	}
	a := identity.Caller{Org: org, Kind: identity.Agent, Client: client}
	var known bool
	a.Subject, a.Processes, known = s.agent(client)
	if !known && s.RefuseUnlisted {
		return identity.Caller{}, errRefused
	}
	if !byItself {
		a.OnBehalfOf = email
		if !hasEmail {
			a.OnBehalfOf = subject
		}
		a.Subject = s.made(a.Subject, client, subject)
	}
	return identity.Checked(a)
}

func (s *source) person(org, client, email string, c claims, scopes []string) (identity.Caller, error) {
	raw := c.list(s.Groups)
	p := identity.Caller{
		Org: org, Subject: email, Kind: identity.Person, Client: client,
		Operator:  s.Operators.covers(raw, scopes, s.GroupNames),
		Publisher: s.Publishers.covers(raw, scopes, s.GroupNames),
	}
	for _, g := range raw {
		if s.GroupNames != nil {
			g = s.GroupNames[g]
		}
		// A group that no role can be bound to opens nothing: it is left out, for
		// a provider's groups have all kinds of names.
		if identity.WrongGroup(g) == "" && !slices.Contains(p.Groups, g) {
			p.Groups = append(p.Groups, g)
		}
	}
	return identity.Checked(p)
}

// covers reports whether any group, by its own id or by its name here, or any
// scope is among those of the grant.
func (g Grant) covers(groups, scopes []string, names map[string]string) bool {
	for _, id := range groups {
		if slices.Contains(g.Groups, id) || names[id] != "" && slices.Contains(g.Groups, names[id]) {
			return true
		}
	}
	return slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(g.Scopes, s) })
}

func (s *source) org(c claims) (string, bool) {
	if s.Org != "" {
		return s.Org, true
	}
	value, ok := c.text(s.OrgClaim)
	if ok && s.OrgValues != nil {
		value, ok = s.OrgValues[value]
	}
	return value, ok && identity.WrongOrg(value) == ""
}

// email is the address of the token, unless the issuer says that it was never
// verified.
func (s *source) email(c claims) (string, bool) {
	text, ok := c.text(s.Email)
	if !ok {
		return "", false
	}
	switch verified, given := c["email_verified"]; {
	case !given && !s.VerifiedEmail, given && (verified == true || verified == "true"):
		return identity.NormalizeEmail(text)
	}
	return "", false
}

// agent is the name and the limit of a client, and whether the file lists it.
func (s *source) agent(client string) (name string, processes []string, listed bool) {
	a, listed := s.Agents[client]
	if !listed {
		a = s.Unlisted
	}
	name = a.Name
	if name == "" {
		name = client
		// What could be taken for another agent gets a name that none has.
		if identity.WrongAgent(client) != "" || looksMade(client) || s.taken[client] || !listed && s.several {
			name = s.made(client, client, "")
		}
	}
	return name, slices.Clone(a.Processes), listed
}

var (
	madeName = regexp.MustCompile(`\.[0-9a-f]{16}$`)
	unnamed  = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
)

func looksMade(name string) bool { return madeName.MatchString(name) }

// made makes the name of an agent that is one client, for one subject of it: it
// reads like the client, and is of this one only.
func (s *source) made(like, client, subject string) string {
	sum := sha256.Sum256([]byte(s.URL + "\x00" + client + "\x00" + subject))
	like = strings.TrimPrefix(strings.TrimPrefix(madeName.ReplaceAllString(like, ""), "https://"), "http://")
	like = strings.Trim(unnamed.ReplaceAllString(like, "-"), "-._")
	if like == "" {
		like = "agent"
	}
	return like[:min(len(like), 100)] + "." + hex.EncodeToString(sum[:8])
}
