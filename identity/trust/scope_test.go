package trust_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/trust"
)

func TestTheScopeToAskForIsTheOneThatGivesTheLeast(t *testing.T) {
	mira := identity.Caller{Org: "acme", Subject: "mira@example.com", Kind: identity.Person}
	both := trust.Issuer{Org: "acme", Operators: trust.Grant{Scopes: []string{"op", "op2"}}, Publishers: trust.Grant{Scopes: []string{"pub"}}}
	operators := trust.Issuer{Org: "acme", Operators: trust.Grant{Scopes: []string{"op"}}}
	groups := trust.Issuer{Org: "acme", Operators: trust.Grant{Groups: []string{"admins"}}}
	elsewhere := trust.Issuer{Org: "other", Operators: trust.Grant{Scopes: []string{"x"}}}
	mapped := trust.Issuer{OrgClaim: trust.Claim{"o"}, OrgValues: map[string]string{"1": "acme"}, Operators: trust.Grant{Scopes: []string{"m"}}}
	notMapped := trust.Issuer{OrgClaim: trust.Claim{"o"}, OrgValues: map[string]string{"1": "other"}, Operators: trust.Grant{Scopes: []string{"x"}}}
	for name, c := range map[string]struct {
		issuers          []trust.Issuer
		operate, publish string
	}{
		"one issuer":                         {[]trust.Issuer{both}, "op", "pub"},
		"operators only":                     {[]trust.Issuer{operators}, "op", "op"},
		"groups only":                        {[]trust.Issuer{groups}, "", ""},
		"an issuer of another":               {[]trust.Issuer{elsewhere, notMapped, operators}, "op", "op"},
		"an issuer of several organizations": {[]trust.Issuer{mapped}, "m", "m"},
		"two that say the same":              {[]trust.Issuer{both, operators}, "op", ""},
		"two that differ":                    {[]trust.Issuer{operators, mapped}, "", ""},
	} {
		config := &trust.Config{People: identity.Policy{From: identity.Both}, Issuers: c.issuers}
		require.Equal(t, c.operate, config.Scope(mira, identity.Operate), name)
		require.Equal(t, c.publish, config.Scope(mira, identity.Publish), name)
		require.Empty(t, config.Scope(identity.Caller{Org: "acme", Kind: identity.Agent}, identity.Operate), name)
		config.People.From = identity.Listed
		require.Empty(t, config.Scope(mira, identity.Operate), "%s, and only the directory counts", name)
	}
}
