package files_test

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/files"
	"github.com/agentprocess-temporal/server/internal/keyring"
)

// linkNow is 40 s into a minute.
var linkNow = time.Unix(1_800_000_040, 0)

func linksWith(t testing.TB, current string, ids ...string) files.Links {
	t.Helper()
	keys := map[string][]byte{}
	for _, id := range ids {
		keys[id] = bytes.Repeat([]byte(id[:1]+id[1:2]), 16)
	}
	r, err := keyring.New(current, keys)
	require.NoError(t, err)
	return files.Links{Base: "https://process.example.com/", Ring: r, TTL: 5 * time.Minute}
}

func split(t testing.TB, link string) (id string, query url.Values) {
	t.Helper()
	u, err := url.Parse(link)
	require.NoError(t, err)
	id, ok := strings.CutPrefix(u.Path, "/files/")
	require.True(t, ok, link)
	return id, u.Query()
}

func TestALinkOpensItsFileForItsOrganization(t *testing.T) {
	l := linksWith(t, "k1", "k1")
	for _, c := range [][2]string{{"acme", "f_91a"}, {"a&b=c", "f/../?#%20 é"}} {
		link := l.URL(c[0], c[1], linkNow)
		require.True(t, strings.HasPrefix(link, "https://process.example.com/files/"), link)
		id, query := split(t, link)
		require.Equal(t, c[1], id)
		org, ok := l.Verify(id, query, linkNow)
		require.True(t, ok)
		require.Equal(t, c[0], org)
	}
}

func TestLinksOfOneMinuteAreEqual(t *testing.T) {
	l := linksWith(t, "k1", "k1")
	minute := linkNow.Truncate(time.Minute)
	first := l.URL("acme", "f_1", minute)
	require.Equal(t, first, l.URL("acme", "f_1", minute.Add(time.Minute-time.Nanosecond)))
	require.NotEqual(t, first, l.URL("acme", "f_1", minute.Add(time.Minute)))
	require.NotEqual(t, first, l.URL("acme", "f_2", minute))
	require.NotEqual(t, first, l.URL("globex", "f_1", minute))
}

func TestALinkLastsItsTimeAndAtMostAMinuteMore(t *testing.T) {
	minute := linkNow.Truncate(time.Minute)
	for ttl, want := range map[time.Duration]time.Duration{
		5 * time.Minute:  6 * time.Minute, // from the start of the minute
		61 * time.Second: 3 * time.Minute,
		time.Second:      2 * time.Minute,
		0:                files.DefaultLinkTTL + time.Minute,
	} {
		l := linksWith(t, "k1", "k1")
		l.TTL = ttl
		id, query := split(t, l.URL("acme", "f_1", linkNow))
		for at, open := range map[time.Duration]bool{0: true, want - time.Second: true, want: false, want + time.Hour: false} {
			_, ok := l.Verify(id, query, minute.Add(at))
			require.Equal(t, open, ok, "ttl %s at %s", ttl, at)
		}
	}
}

func TestRetiredKeysOpenLinksAndRemovedOnesDoNot(t *testing.T) {
	id, query := split(t, linksWith(t, "k1", "k1").URL("acme", "f_1", linkNow))
	_, ok := linksWith(t, "k2", "k2", "k1").Verify(id, query, linkNow)
	require.True(t, ok)
	_, ok = linksWith(t, "k2", "k2").Verify(id, query, linkNow)
	require.False(t, ok)
}

func TestAChangedLinkOpensNothing(t *testing.T) {
	l := linksWith(t, "k1", "k1", "k2")
	link := l.URL("acme", "f_1", linkNow)
	id, good := split(t, link)
	_, ok := l.Verify(id, good, linkNow)
	require.True(t, ok)

	edit := func(name string, values ...string) url.Values {
		_, q := split(t, link)
		q[name] = values
		return q
	}
	e, s := good.Get("e"), good.Get("s")
	for name, q := range map[string]url.Values{
		"another organization":     edit("o", "globex"),
		"no organization":          edit("o"),
		"two organizations":        edit("o", "acme", "globex"),
		"a later expiry":           edit("e", "9"+e),
		"an expiry written longer": edit("e", "0"+e),
		"a signed expiry":          edit("e", "+"+e),
		"an expiry that is none":   edit("e", "x"),
		"another key":              edit("k", "k2"),
		"an unknown key":           edit("k", "k3"),
		"no key":                   edit("k"),
		"no signature":             edit("s"),
		"an empty signature":       edit("s", ""),
		"a padded signature":       edit("s", s+"="),
		"a line end inside":        edit("s", s[:4]+"\n"+s[4:]),
		"a shorter signature":      edit("s", s[:40]),
		"nothing":                  {},
	} {
		org, ok := l.Verify(id, q, linkNow)
		require.False(t, ok, name)
		require.Empty(t, org, name)
	}
	for i := range s {
		for bit := range 8 {
			b := []byte(s)
			b[i] ^= 1 << bit
			_, ok := l.Verify(id, edit("s", string(b)), linkNow)
			require.False(t, ok, "letter %d bit %d", i, bit)
		}
	}
	for _, other := range []string{"f_2", "f_1 ", "F_1", ""} {
		_, ok := l.Verify(other, good, linkNow)
		require.False(t, ok, other)
	}
	_, ok = l.Verify("1", edit("o", "acmef_"), linkNow)
	require.False(t, ok, "a shifted border between organization and file")

	_, ok = l.Verify(id, edit("utm_source", "mail"), linkNow)
	require.True(t, ok, "what others append is not looked at")
}
