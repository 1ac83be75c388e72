package trust

import (
	"fmt"
	"maps"
	"slices"

	"gopkg.in/yaml.v3"
)

// together checks what only shows when all issuers are known.
func (p *parser) together(nodes []*yaml.Node) {
	urls := map[string]bool{}
	names := map[string]bool{}
	open := 0
	for k, i := range p.c.Issuers {
		if k >= len(nodes) {
			return
		}
		n, at := nodes[k], fmt.Sprintf("issuers[%d]", k)
		if i.URL != "" && urls[i.URL] {
			p.Report(n, at+".issuer", "%q is listed twice", i.URL)
		}
		urls[i.URL] = true
		if i.OrgClaim != nil && i.OrgValues == nil {
			open++
		}
		for _, client := range slices.Sorted(maps.Keys(i.Agents)) {
			name := i.Agents[client].Name
			if name != "" && names[name] {
				p.Report(n, at+".agents", "the name %q is given twice", name)
			}
			names[name] = true
			if j := p.namesake(k, client); name == "" && j >= 0 {
				p.Report(n, at+".agents", "%q is listed by issuers[%d], too: give each of the two a name", client, j)
			}
		}
	}
	// One such issuer could otherwise speak for the organizations of another.
	if open > 0 && len(p.c.Issuers) > 1 {
		for k, i := range p.c.Issuers {
			if i.OrgClaim != nil && i.OrgValues == nil {
				p.Report(nodes[k], fmt.Sprintf("issuers[%d].organization.values", k), "missing: with several issuers each says which organizations it speaks for")
			}
		}
	}
}

// namesake is the issuer before the k-th that lists a client of the same id
// without a name, for an organization that both speak for; -1 where none does.
// Both agents would go by that id, and each could work with the other's claims.
func (p *parser) namesake(k int, client string) int {
	own := p.c.Issuers[k]
	for j, i := range p.c.Issuers[:k] {
		if a, listed := i.Agents[client]; !listed || a.Name != "" {
			continue
		}
		orgs := append(slices.Collect(maps.Values(i.OrgValues)), i.Org)
		if slices.ContainsFunc(orgs, func(org string) bool { return org != "" && own.speaksFor(org) }) {
			return j
		}
	}
	return -1
}
