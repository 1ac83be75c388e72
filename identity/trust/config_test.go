package trust

import (
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
)

func TestAFileHasDefaults(t *testing.T) {
	c, err := ParseConfig([]byte(simple))
	require.NoError(t, err)
	require.Equal(t, identity.Policy{From: identity.Both, AnyGroup: true}, c.People)
	require.Equal(t, DefaultRate, c.Rate)
	require.Equal(t, []string{resource}, c.Issuers[0].Audiences)
	require.Equal(t, 30*time.Second, c.Issuers[0].Skew)
	require.NotContains(t, c.Issuers[0].Algorithms, jose.HS256)
}

func TestEveryProblemOfAFileIsToldAtOnce(t *testing.T) {
	_, err := ParseConfig([]byte(`resource: http://process.example.com/mcp
people: { from: nowhere, persons: loose }
rate: { per_second: 0, burst: many }
issuers:
  - issuer: https://id.example.com?x=1
    algorithms: [none, HS256, RS256, RS256]
    audiences: []
    skew: 1h
    organization: a/b
    human_clients: [web]
    agents:
      - { client: web }
      - { name: bot }
      - { client: c1, name: a b }
      - { client: c2, processes: [Not A Name] }
    group_names: { g1: operators }
    operators: { groups: [x], users: [y] }
    required_scopes: ["a b"]
    password: secret
  - issuer: https://other.example.com
    organization: { claim: org }
`))
	var broken *ConfigError
	require.ErrorAs(t, err, &broken)
	require.Equal(t, []string{
		`line 1: resource: must be an address that starts with https:// (or http:// on this machine), without query and fragment`,
		`line 2: people.from: must be one of both, claims, directory`,
		`line 2: people.persons: must be one of strict, open`,
		`line 3: rate.per_second: must be a number above 0`,
		`line 3: rate.burst: must be a whole number of at least 1`,
		`line 5: issuers[0].issuer: must be an address that starts with https:// (or http:// on this machine), without query and fragment`,
		`line 6: issuers[0].algorithms[0]: "none" is not an algorithm of public keys that is known here`,
		`line 6: issuers[0].algorithms[1]: "HS256" is not an algorithm of public keys that is known here`,
		`line 6: issuers[0].algorithms[3]: "RS256" is listed twice`,
		`line 7: issuers[0].audiences: must have at least one; leave it out for the resource`,
		`line 8: issuers[0].skew: must be a duration of at most 2m0s, such as 30s`,
		`line 9: issuers[0].organization: must be 1 to 63 letters, digits, '.', '_' or '-', starting with a letter or digit`,
		`line 12: issuers[0].agents[0].client: "web" is a human client: a client is one or the other`,
		`line 13: issuers[0].agents[1].client: missing`,
		`line 14: issuers[0].agents[2].name: must be 1 to 128 letters, digits, '.', '_' or '-', starting with a letter or digit`,
		`line 15: issuers[0].agents[3].processes[0]: "Not A Name" is not the name of a process`,
		"line 16: issuers[0].group_names.g1: \"operators\" is the operator queue; mark its people with `operator: true`",
	}, broken.Issues[:17])
	rest := broken.Issues[17:]
	require.Len(t, rest, 4)
	require.Equal(t, `line 17: issuers[0].operators: unknown key "users", expected groups, scopes`, rest[0])
	require.Equal(t, `line 18: issuers[0].required_scopes[0]: must be one scope: no spaces, quotes or backslashes`, rest[1])
	require.Contains(t, rest[2], `line 19: issuers[0]: unknown key "password"`)
	require.Contains(t, rest[3], `line 20: issuers[1].organization.values: missing`)
}

func TestAFileThatIsNoneIsRefused(t *testing.T) {
	for _, text := range []string{"", "[]", "a: b", "resource: https://x.example/mcp\nissuers: []\n", "--- {}\n--- {}\n", "resource: 7"} {
		_, err := ParseConfig([]byte(text))
		var broken *ConfigError
		require.ErrorAs(t, err, &broken, text)
	}
}
