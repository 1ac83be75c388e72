package identity

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func acmeDirectory(t *testing.T) *Directory {
	t.Helper()
	d, err := ParseDirectory([]byte(acme))
	require.NoError(t, err)
	return d
}

const acme = `organization: acme
agents: [a1, { name: a2, processes: [one, two] }, { name: a3, processes: [] }]
groups: [empty]
people:
  - { email: mira@example.com, groups: [finance], publisher: true }
`

func TestWhatAPersonMayDoComesFromWhereThePolicySays(t *testing.T) {
	byToken := Caller{Org: "acme", Subject: "mira@example.com", Kind: Person, Groups: []string{"ops"}, Operator: true}
	for from, want := range map[Source]Caller{
		Claims: byToken,
		Listed: {Org: "acme", Subject: "mira@example.com", Kind: Person, Groups: []string{"finance"}, Publisher: true},
		Both:   {Org: "acme", Subject: "mira@example.com", Kind: Person, Groups: []string{"ops", "finance"}, Operator: true, Publisher: true},
	} {
		p := &People{Policy: Policy{From: from}, Directories: NewRegistry(acmeDirectory(t))}
		got, err := p.known(byToken)
		require.NoError(t, err, from)
		require.Equal(t, want, got, from)
	}
}

func TestWhoMustBeListedAndIsNotIsNobody(t *testing.T) {
	for _, c := range []Caller{
		{Org: "acme", Subject: "eve@example.com", Kind: Person, Groups: []string{"finance"}, Operator: true},
		{Org: "globex", Subject: "mira@example.com", Kind: Person},
	} {
		p := &People{Policy: Policy{From: Listed}, Directories: NewRegistry(acmeDirectory(t))}
		_, err := p.known(c)
		require.Equal(t, ErrInvalidToken, err)
		p.From = Both
		got, err := p.known(c)
		require.NoError(t, err)
		require.Equal(t, c, got)
	}
}

func TestAnAgentIsLimitedByAllThatLimitIt(t *testing.T) {
	p := &People{Policy: Policy{From: Both}, Directories: NewRegistry(acmeDirectory(t))}
	for _, c := range []struct {
		name        string
		token, want []string
	}{
		{"a1", nil, nil},
		{"a1", []string{"one"}, []string{"one"}},
		{"a2", nil, []string{"one", "two"}},
		{"a2", []string{"two", "three"}, []string{"two"}},
		{"a2", []string{}, []string{}},
		{"a3", nil, []string{}},
		{"unlisted", nil, nil},
	} {
		got, err := p.known(Caller{Org: "acme", Subject: c.name, Kind: Agent, Processes: c.token})
		require.NoError(t, err)
		require.Equal(t, c.want, got.Processes, c.name)
		require.Equal(t, c.want == nil, got.MayWork("unheard-of"), c.name)
	}
	other, err := p.known(Caller{Org: "globex", Subject: "a3", Kind: Agent})
	require.NoError(t, err)
	require.Nil(t, other.Processes, "of another organization")
}

func TestValuesAndGroupsAreOfOneOrganization(t *testing.T) {
	p := PeopleOf(acmeDirectory(t))
	require.True(t, p.Resolve("acme", "Mira@Example.com"))
	require.False(t, p.Resolve("globex", "mira@example.com"))
	require.False(t, p.Resolve("acme", "eve@example.com"))
	require.True(t, p.HasGroup("acme", "empty"))
	require.False(t, p.HasGroup("globex", "finance"))
	p.Open, p.AnyGroup = true, true
	require.True(t, p.Resolve("globex", "eve@example.com"))
	require.False(t, p.Resolve("acme", "eve"))
	require.True(t, p.HasGroup("acme", "unheard-of"))
	require.False(t, p.HasGroup("acme", OperatorGroup))
	require.False(t, (&People{}).Resolve("acme", "mira@example.com"), "there may be no directory at all")
}

func TestADirectoryIsReadAgainWhenItsFileChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "directory.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write(acme)
	r, err := LoadRegistry(file)
	require.NoError(t, err)
	now := make(chan os.Signal)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Watch(ctx, 5*time.Millisecond, now, slog.New(slog.DiscardHandler))
	}()
	groups := func() []string {
		e, _ := r.Directory("acme").Person("mira@example.com")
		return e.Groups
	}
	require.Equal(t, []string{"finance"}, groups())
	write("organization: acme\npeople: [{ email: mira@example.com, groups: [operations] }]\n")
	require.Eventually(t, func() bool { return groups()[0] == "operations" }, 10*time.Second, time.Millisecond)

	write("organization: acme\npeople: [{ email: mira }]\n")
	now <- os.Interrupt // taken when the watcher looks; the next one when it has looked
	now <- os.Interrupt
	require.Equal(t, []string{"operations"}, groups(), "a broken file changes nothing")
	require.NoError(t, os.Remove(file))
	now <- os.Interrupt
	now <- os.Interrupt
	require.Equal(t, []string{"operations"}, groups(), "nor does one that is gone")
	write(acme)
	require.Eventually(t, func() bool { return groups()[0] == "finance" }, 10*time.Second, time.Millisecond)
	cancel()
	<-done
}

func TestTwoFilesOfOneOrganizationAreRefused(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"a", "b"} {
		files = append(files, filepath.Join(dir, name))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(acme), 0o600))
	}
	_, err := LoadRegistry(files...)
	require.ErrorContains(t, err, `directory of "acme"`)
	r, err := LoadRegistry(files[0])
	require.NoError(t, err)
	require.Equal(t, []string{"acme"}, r.Organizations())
}

// fixed proves one caller.
type fixed struct{ c Caller }

func (f fixed) Verify(context.Context, string) (Caller, time.Time, error) {
	return f.c, time.Unix(1, 0), nil
}

func TestAnIssuerNamedByATokenOnlyChoosesWhoProvesIt(t *testing.T) {
	chosen := fixed{Caller{Subject: "chosen"}}
	v := Dispatch(func(issuer string) Verifier {
		if issuer == testIssuer {
			return chosen
		}
		return nil
	}, fixed{Caller{Subject: "other"}})
	token, err := issuerAt(testNow).Issue(agentA1, time.Hour)
	require.NoError(t, err)
	for text, want := range map[string]string{token: "chosen", "": "other", "a.b.c": "other", token + ".x": "other"} {
		c, _, err := v.Verify(context.Background(), text)
		require.NoError(t, err)
		require.Equal(t, want, c.Subject)
	}
	_, _, err = Dispatch(func(string) Verifier { return nil }, nil).Verify(context.Background(), token)
	require.Equal(t, ErrInvalidToken, err)
}
