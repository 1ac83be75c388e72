package identity_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
)

func TestTheExampleDirectory(t *testing.T) {
	d, err := identity.Load(filepath.Join("..", "examples", "directory.yaml"))
	require.NoError(t, err)

	require.Equal(t, "acme", d.Org())
	require.Equal(t, []string{"a1", "a2"}, d.Agents())
	require.Equal(t, []string{
		"agent:a1", "agent:a2", "person:mira@example.com", "person:omar@example.com",
		"person:lena@example.com", "person:ops@example.com",
	}, d.Identities())
	require.Equal(t, []identity.Entry{
		{Email: "mira@example.com", Groups: []string{"finance"}},
		{Email: "omar@example.com", Groups: []string{"finance", "ops"}},
		{Email: "lena@example.com"},
		{Email: "ops@example.com", Operator: true, Publisher: true},
	}, d.People())
	require.Equal(t, []string{"mira@example.com", "omar@example.com"}, d.Members("finance"))
	require.Equal(t, []string{"omar@example.com"}, d.Members("ops"))
	require.Empty(t, d.Members("nobody"))
	require.Equal(t, []string{"ops@example.com"}, d.Operators())
	require.Equal(t, d.Operators(), d.Members(identity.OperatorGroup))
}

const sample = `
organization: acme
groups: [auditors]
agents: [a1]
people:
  - {email: Mira@Example.com, groups: [finance], operator: false}
  - {email: ops@example.com, operator: true, publisher: true}
`

func parse(t *testing.T, text string) *identity.Directory {
	t.Helper()
	d, err := identity.ParseDirectory([]byte(text))
	require.NoError(t, err)
	return d
}

func TestAPersonValueResolvesInAnyCase(t *testing.T) {
	d := parse(t, sample)
	for value, want := range map[string]bool{
		"mira@example.com": true, "MIRA@EXAMPLE.COM": true, "Mira@Example.com": true,
		"omar@example.com": false, "a1": false, "": false, "mira": false,
		" mira@example.com": false, "finance": false, "person:mira@example.com": false,
	} {
		require.Equal(t, want, d.Resolve(value), "%q", value)
	}
	p, ok := d.Person("MIRA@example.com")
	require.True(t, ok)
	require.Equal(t, identity.Entry{Email: "mira@example.com", Groups: []string{"finance"}}, p)
}

func TestGroupsARoleCanBeBoundTo(t *testing.T) {
	d := parse(t, sample)
	require.True(t, d.HasGroup("finance"), "someone is in it")
	require.True(t, d.HasGroup("auditors"), "it is declared")
	for _, id := range []string{"", "Finance", "ops", "operators", "mira@example.com"} {
		require.False(t, d.HasGroup(id), "%q", id)
	}
}

func TestEveryIdentityIsACaller(t *testing.T) {
	d := parse(t, sample)
	got := map[string]identity.Caller{}
	for _, id := range d.Identities() {
		c, ok := d.Caller(id)
		require.True(t, ok, id)
		got[id] = c
	}
	require.Equal(t, map[string]identity.Caller{
		"agent:a1":                {Org: "acme", Subject: "a1", Kind: identity.Agent},
		"person:mira@example.com": {Org: "acme", Subject: "mira@example.com", Kind: identity.Person, Groups: []string{"finance"}},
		"person:ops@example.com":  {Org: "acme", Subject: "ops@example.com", Kind: identity.Person, Operator: true, Publisher: true},
	}, got)
	c, ok := d.Caller("person:MIRA@example.com")
	require.True(t, ok)
	require.Equal(t, "mira@example.com", c.Subject)
	for _, id := range []string{"", "a1", "agent:", "agent:a2", "agent:mira@example.com", "person:a1", "Agent:a1", "group:finance"} {
		_, ok := d.Caller(id)
		require.False(t, ok, "%q", id)
	}
}

func TestADirectoryNeverChanges(t *testing.T) {
	d := parse(t, sample)
	d.People()[0].Groups[0] = "changed"
	d.Agents()[0] = "changed"
	e, _ := d.Person("mira@example.com")
	e.Groups[0] = "changed"
	c, _ := d.Caller("person:mira@example.com")
	c.Groups[0] = "changed"
	require.Equal(t, []string{"mira@example.com"}, d.Members("finance"))
	require.Equal(t, []string{"a1"}, d.Agents())
}

func TestADirectoryMayBeSmall(t *testing.T) {
	d := parse(t, "organization: acme")
	require.Empty(t, d.Identities())
}

func TestADirectoryIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":             {"", []string{"the file is empty"}},
		"a list":            {"- a", []string{"line 1: expected a mapping with organization, agents, people, groups"}},
		"no organization":   {"agents: [a1]", []string{"line 1: organization: missing"}},
		"two documents":     {"organization: acme\n---\norganization: b", []string{"line 2: the file holds more than one document"}},
		"an unknown key":    {"organization: acme\nagent: [a1]", []string{`line 2: unknown key "agent", expected organization, agents, people, groups`}},
		"a key given twice": {"organization: acme\norganization: b", []string{`line 2: key "organization" is given twice`}},
		"an organization that is no id": {"organization: a/b",
			[]string{"line 1: organization: must be 1 to 63 letters, digits, '.', '_' or '-', starting with a letter or digit"}},
		"a number for a name": {"organization: acme\nagents: [7]",
			[]string{"line 2: agents[0]: expected text; put quotes around what reads as a number, date or boolean"}},
		"a null list": {"organization: acme\nagents:", []string{"line 2: agents: expected a list; write [] for none"}},
		"an agent listed twice": {"organization: acme\nagents: [a1, a1]",
			[]string{`line 2: agents[1]: "a1" is listed twice`}},
		"an agent named like a person": {"organization: acme\nagents: [mira@example.com]",
			[]string{"line 2: agents[0]: must be 1 to 128 letters, digits, '.', '_' or '-', starting with a letter or digit"}},
		"an agent named like the server": {"organization: acme\nagents: [server]",
			[]string{`line 2: agents[0]: "server" names the server itself in a run's record`}},
		"a person without an address": {"organization: acme\npeople:\n  - groups: [a]",
			[]string{"line 3: people[0].email: missing"}},
		"an address that is none": {"organization: acme\npeople:\n  - email: mira",
			[]string{`line 3: people[0].email: "mira" is not an email address`}},
		"an address twice in other case": {"organization: acme\npeople:\n  - email: a@b.c\n  - email: A@B.c",
			[]string{`line 4: people[1].email: "a@b.c" is listed twice`}},
		"an unknown key of a person": {"organization: acme\npeople:\n  - {email: a@b.c, admin: true}",
			[]string{`line 3: people[0]: unknown key "admin", expected email, groups, operator, publisher`}},
		"the operator queue as a group of a person": {"organization: acme\npeople:\n  - {email: a@b.c, groups: [operators]}",
			[]string{"line 3: people[0].groups[0]: \"operators\" is the operator queue; mark its people with `operator: true`"}},
		"the operator queue as a declared group": {"organization: acme\ngroups: [Operators]",
			[]string{"line 2: groups[0]: \"Operators\" is the operator queue; mark its people with `operator: true`"}},
		"a group twice": {"organization: acme\npeople:\n  - {email: a@b.c, groups: [f, f]}",
			[]string{`line 3: people[0].groups[1]: "f" is listed twice`}},
		"a word for a boolean": {"organization: acme\npeople:\n  - {email: a@b.c, operator: yes, publisher: True}",
			[]string{"line 3: people[0].operator: expected true or false", "line 3: people[0].publisher: expected true or false"}},
		"an alias": {"organization: acme\ngroups: &g [f]\npeople:\n  - {email: a@b.c, groups: *g}",
			[]string{"line 4: people[0].groups: expected a list; write [] for none"}},
		"everything at once, in file order": {
			"people:\n  - {email: x, operator: 1}\n  - 7\nagents: [server, '']\nextra: 1",
			[]string{
				"line 1: organization: missing",
				"line 2: people[0].operator: expected true or false",
				`line 2: people[0].email: "x" is not an email address`,
				"line 3: people[1]: expected a mapping with email, groups, operator, publisher",
				`line 4: agents[0]: "server" names the server itself in a run's record`,
				"line 4: agents[1]: must be 1 to 128 letters, digits, '.', '_' or '-', starting with a letter or digit",
				`line 5: unknown key "extra", expected organization, agents, people, groups`,
			}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := identity.ParseDirectory([]byte(c.text))
			require.Nil(t, d)
			var refused *identity.DirectoryError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, c.want, refused.Issues)
		})
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory.yaml")
	_, err := identity.Load(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("organization: ["), 0o600))
	_, err = identity.Load(path)
	require.ErrorContains(t, err, path)
	require.NoError(t, os.WriteFile(path, []byte("# "+strings.Repeat("x", identity.MaxDirectoryBytes)), 0o600))
	_, err = identity.Load(path)
	require.ErrorContains(t, err, "larger than")
}

func FuzzParseDirectory(f *testing.F) {
	for _, seed := range []string{sample, "", "# only a comment", "organization: acme\n---\n", "a: &a [*a]", "? [x]\n: y", "<<: {organization: acme}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := identity.ParseDirectory(data)
		if err != nil {
			var refused *identity.DirectoryError
			require.ErrorAs(t, err, &refused)
			require.NotEmpty(t, refused.Issues)
			return
		}
		for _, id := range d.Identities() {
			_, ok := d.Caller(id)
			require.True(t, ok, "%q", id)
		}
		require.False(t, d.HasGroup(identity.OperatorGroup))
	})
}
