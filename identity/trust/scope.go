package trust

import (
	"slices"

	"github.com/agentprocess-temporal/server/identity"
)

// Scope is the scope that a caller has to ask for to get a right, empty where
// none would give it: an agent never has a right, and where people are known by
// the directory alone, or the issuer grants by groups, no scope counts. Of
// several scopes, each of which is enough, it is the first in the file; of a
// right that two grants give, it is the one that gives less.
//
// Where several issuers speak for the caller's organization and their scopes
// differ, it is empty: which of them to ask is the client's to know.
func (c *Config) Scope(caller identity.Caller, right identity.Right) string {
	if !caller.IsPerson() || c.People.From == identity.Listed {
		return ""
	}
	var found []string
	for _, i := range c.Issuers {
		if !i.speaksFor(caller.Org) {
			continue
		}
		scopes := i.Operators.Scopes
		if right == identity.Publish {
			scopes = slices.Concat(i.Publishers.Scopes, scopes)
		}
		first := ""
		if len(scopes) > 0 {
			first = scopes[0]
		}
		if !slices.Contains(found, first) {
			found = append(found, first)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// speaksFor reports whether a token of the issuer can be of an organization.
func (i Issuer) speaksFor(org string) bool {
	if i.Org != "" {
		return i.Org == org
	}
	if i.OrgValues == nil {
		return true
	}
	for _, value := range i.OrgValues {
		if value == org {
			return true
		}
	}
	return false
}
