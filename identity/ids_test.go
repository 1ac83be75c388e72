package identity_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
)

func TestNormalizeEmail(t *testing.T) {
	for in, want := range map[string]string{
		"mira@example.com":         "mira@example.com",
		"Mira.B@Example.COM":       "mira.b@example.com",
		"o'neil+tag@a-b.example":   "o'neil+tag@a-b.example",
		"a@b":                      "a@b",
		"":                         "",
		"mira":                     "",
		"@example.com":             "",
		"mira@":                    "",
		"mira@@example.com":        "",
		"a@b@c":                    "",
		" mira@example.com":        "",
		"mira@example.com\n":       "",
		"mira @example.com":        "",
		"Mira <mira@example.com>":  "",
		".mira@example.com":        "",
		"mira.@example.com":        "",
		"mi..ra@example.com":       "",
		"mira@example..com":        "",
		"mira@-example.com":        "",
		"mira@example.com.":        "",
		"mir\u0000a@example.com":   "",
		"mi\u0301ra@example.com":   "",
		"\u212Aim@example.com":     "", // the Kelvin sign lower-cases to k
		"mira@\u212Aexample.com":   "",
		"person:mira@example.com":  "",
		"mira@example.com,a@b.com": "",
		strings.Repeat("a", 243) + "@example.com": "",
		strings.Repeat("a", 242) + "@example.com": strings.Repeat("a", 242) + "@example.com",
	} {
		got, ok := identity.NormalizeEmail(in)
		require.Equal(t, want != "", ok, "%q", in)
		require.Equal(t, want, got, "%q", in)
	}
}

func TestWorkIsAssignedToPeopleUnderTheseKeys(t *testing.T) {
	person := identity.Caller{Org: "acme", Kind: identity.Person, Subject: "Mira@Example.com"}
	with := func(groups []string, operator bool) identity.Caller {
		c := person
		c.Groups, c.Operator = groups, operator
		return c
	}
	for name, c := range map[string]struct {
		caller identity.Caller
		want   []string
	}{
		"a person of no group":            {person, []string{"person:mira@example.com"}},
		"a person of two groups":          {with([]string{"ops", "finance"}, false), []string{"person:mira@example.com", "group:ops", "group:finance"}},
		"an operator":                     {with([]string{"ops"}, true), []string{"person:mira@example.com", "group:ops", "group:operators"}},
		"a group named like the queue":    {with([]string{"operators", "Operators"}, false), []string{"person:mira@example.com"}},
		"a group twice and an empty one":  {with([]string{"ops", "", "ops"}, false), []string{"person:mira@example.com", "group:ops"}},
		"a person who cannot be named":    {identity.Caller{Kind: identity.Person, Subject: "mira", Operator: true}, nil},
		"an agent, whatever else it says": {identity.Caller{Kind: identity.Agent, Subject: "mira@example.com", Groups: []string{"ops"}, Operator: true}, nil},
		"a caller of no kind":             {identity.Caller{Subject: "mira@example.com"}, nil},
	} {
		require.Equal(t, c.want, c.caller.Assignees(), name)
	}
}

func TestWhoMayDecide(t *testing.T) {
	mira := identity.Caller{Kind: identity.Person, Subject: "mira@example.com", Groups: []string{"finance"}}
	op := identity.Caller{Kind: identity.Person, Subject: "ops@example.com", Operator: true}
	agent := identity.Caller{Kind: identity.Agent, Subject: "mira@example.com", Groups: []string{"finance"}, Operator: true}
	for name, c := range map[string]struct {
		caller        identity.Caller
		group, person string
		want          bool
	}{
		"a member of the group":                   {mira, "finance", "", true},
		"a person outside the group":              {op, "finance", "", false},
		"a group id in another case":              {mira, "Finance", "", false},
		"the person asked":                        {mira, "", "mira@example.com", true},
		"the person asked, written otherwise":     {mira, "", "MIRA@example.com", true},
		"another person":                          {mira, "", "omar@example.com", false},
		"an operator for another person":          {op, "", "mira@example.com", false},
		"an operator in the operator queue":       {op, "operators", "", true},
		"no operator in the operator queue":       {mira, "operators", "", false},
		"an item assigned to no one":              {mira, "", "", false},
		"an item assigned to a group and another": {mira, "finance", "omar@example.com", false},
		"a group and the person":                  {mira, "finance", "mira@example.com", false},
		"a person value that is no address":       {mira, "", "mira", false},
		"an agent with a person's name":           {agent, "", "mira@example.com", false},
		"an agent with a group":                   {agent, "finance", "", false},
		"an agent that says operator":             {agent, "operators", "", false},
	} {
		require.Equal(t, c.want, c.caller.MayDecide(c.group, c.person), name)
	}
}
