package catalog_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/catalog"
	"github.com/agentprocess-temporal/server/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func draft(org, name, source string) catalog.Draft {
	return catalog.Draft{Org: org, Name: name, Source: []byte(source), UpdatedBy: "mira@example.com"}
}

func version(org, name, hash string) catalog.Version {
	return catalog.Version{Org: org, Name: name, Hash: hash, Description: "has a \x00", Source: []byte("---\x00"),
		Document: []byte(`{"n":1e400}`), Bindings: map[string]string{"finance": "g_1"}, PublishedBy: "mira@example.com"}
}

func TestImportingAgainReplacesTheSourceAndKeepsTheBindings(t *testing.T) {
	pool := testenv.Pool(t)
	ctx := t.Context()
	none, err := catalog.GetDraft(ctx, pool, "o", "p")
	require.NoError(t, err)
	require.Nil(t, none)

	require.NoError(t, catalog.Import(ctx, pool, draft("o", "p", "one\x00\xff")))
	got, err := catalog.GetDraft(ctx, pool, "o", "p")
	require.NoError(t, err)
	require.Equal(t, "one\x00\xff", string(got.Source))
	require.Empty(t, got.Bindings)
	require.Equal(t, "mira@example.com", got.UpdatedBy)
	require.WithinDuration(t, time.Now(), got.UpdatedAt, time.Minute)

	require.NoError(t, catalog.Bind(ctx, pool, "o", "p", map[string]string{"finance": "g_1", "legal": "g_2"}))
	require.NoError(t, catalog.Import(ctx, pool, draft("o", "p", "two")))
	require.NoError(t, catalog.Bind(ctx, pool, "o", "p", map[string]string{"finance": "g_3", "ops": "g_4", "legal": ""}))
	again, err := catalog.GetDraft(ctx, pool, "o", "p")
	require.NoError(t, err)
	require.Equal(t, "two", string(again.Source))
	require.Equal(t, map[string]string{"finance": "g_3", "ops": "g_4"}, again.Bindings)
	require.True(t, again.UpdatedAt.After(got.UpdatedAt))
}

func TestBindingNeedsADraft(t *testing.T) {
	pool := testenv.Pool(t)
	require.NoError(t, catalog.Import(t.Context(), pool, draft("other", "p", "")))
	err := catalog.Bind(t.Context(), pool, "o", "p", map[string]string{"finance": "g_1"})
	require.ErrorIs(t, err, catalog.ErrNoDraft)
}

func TestBindingsSetAtOnceAreAllKept(t *testing.T) {
	pool := testenv.Pool(t)
	require.NoError(t, catalog.Import(t.Context(), pool, draft("o", "p", "")))
	var g errgroup.Group
	for i := range 16 {
		g.Go(func() error {
			return catalog.Bind(t.Context(), pool, "o", "p", map[string]string{fmt.Sprint("role", i): "g"})
		})
	}
	require.NoError(t, g.Wait())
	got, err := catalog.GetDraft(t.Context(), pool, "o", "p")
	require.NoError(t, err)
	require.Len(t, got.Bindings, 16)
}

func TestDraftsAreListedByNameWithinTheOrganization(t *testing.T) {
	pool := testenv.Pool(t)
	for _, d := range []catalog.Draft{draft("o", "b", ""), draft("other", "c", ""), draft("o", "a", "")} {
		require.NoError(t, catalog.Import(t.Context(), pool, d))
	}
	drafts, err := catalog.ListDrafts(t.Context(), pool, "o")
	require.NoError(t, err)
	require.Len(t, drafts, 2)
	require.Equal(t, "a", drafts[0].Name)
	require.Equal(t, "b", drafts[1].Name)
}

func TestAVersionIsPublishedOnlyWhenItDiffersFromTheNewest(t *testing.T) {
	pool := testenv.Pool(t)
	rebound := version("o", "p", "h2")
	rebound.Bindings = map[string]string{"finance": "g_9"}
	for _, c := range []struct {
		name    string
		publish catalog.Version
		number  int
		created bool
	}{
		{"the first", version("o", "p", "h1"), 1, true},
		{"the same again", version("o", "p", "h1"), 1, false},
		{"another source", version("o", "p", "h2"), 2, true},
		{"other bindings", rebound, 3, true},
		{"back to an older one", version("o", "p", "h1"), 4, true},
		{"another process", version("o", "q", "h1"), 1, true},
		{"another organization", version("other", "p", "h1"), 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			stored, created, err := catalog.Publish(t.Context(), pool, c.publish)
			require.NoError(t, err)
			require.Equal(t, c.created, created)
			require.Equal(t, c.number, stored.Number)

			for _, number := range []int{c.number, 0} {
				got, err := catalog.Get(t.Context(), pool, c.publish.Org, c.publish.Name, number)
				require.NoError(t, err)
				require.Equal(t, &stored, got)
			}
			require.WithinDuration(t, time.Now(), stored.PublishedAt, time.Minute)
			want := c.publish
			want.Number, want.PublishedAt = stored.Number, stored.PublishedAt
			require.Equal(t, want, stored)
		})
	}
}

func TestAVersionThatIsNotThereIsNil(t *testing.T) {
	pool := testenv.Pool(t)
	_, _, err := catalog.Publish(t.Context(), pool, version("o", "p", "h"))
	require.NoError(t, err)
	for _, c := range []struct {
		org, name string
		number    int
	}{{"o", "p", 2}, {"o", "p", -1}, {"o", "p", 1 << 40}, {"o", "q", 0}, {"other", "p", 1}, {"other", "p", 0}} {
		got, err := catalog.Get(t.Context(), pool, c.org, c.name, c.number)
		require.NoError(t, err)
		require.Nil(t, got)
	}
}

func TestVersionsPublishedAtOnceGetNumbersWithoutGapsOrTwins(t *testing.T) {
	pool := testenv.Pool(t)
	var mu sync.Mutex
	var numbers []int
	var g errgroup.Group
	for i := range 20 {
		g.Go(func() error {
			v, created, err := catalog.Publish(t.Context(), pool, version("o", "p", fmt.Sprint("h", i)))
			if err == nil && !created {
				err = fmt.Errorf("%d was not created", i)
			}
			mu.Lock()
			defer mu.Unlock()
			numbers = append(numbers, v.Number)
			return err
		})
	}
	require.NoError(t, g.Wait())
	slices.Sort(numbers)
	for i, n := range numbers {
		require.Equal(t, i+1, n)
	}
}

func TestOneVersionPublishedByTwentyAtOnceIsCreatedOnce(t *testing.T) {
	pool := testenv.Pool(t)
	var mu sync.Mutex
	created := 0
	var g errgroup.Group
	for range 20 {
		g.Go(func() error {
			v, c, err := catalog.Publish(t.Context(), pool, version("o", "p", "h"))
			mu.Lock()
			defer mu.Unlock()
			if c {
				created++
			}
			if err == nil && v.Number != 1 {
				err = fmt.Errorf("number %d", v.Number)
			}
			return err
		})
	}
	require.NoError(t, g.Wait())
	require.Equal(t, 1, created)
}

func TestAStoredVersionNeverChanges(t *testing.T) {
	pool := testenv.Pool(t)
	_, _, err := catalog.Publish(t.Context(), pool, version("o", "p", "h"))
	require.NoError(t, err)
	for _, sql := range []string{`UPDATE versions SET hash = 'x'`, `DELETE FROM versions`, `TRUNCATE versions`} {
		_, err := pool.Exec(t.Context(), sql)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, sql)
		require.Equal(t, "23001", refused.Code, sql)
	}
	got, err := catalog.Get(t.Context(), pool, "o", "p", 1)
	require.NoError(t, err)
	require.Equal(t, "h", got.Hash)
}

func TestListShowsTheNewestVersionOfEachProcessInPages(t *testing.T) {
	pool := testenv.Pool(t)
	for _, v := range []catalog.Version{version("o", "b", "h1"), version("o", "a", "h1"), version("o", "b", "h2"),
		version("o", "c", "h1"), version("other", "d", "h1")} {
		_, _, err := catalog.Publish(t.Context(), pool, v)
		require.NoError(t, err)
	}
	list := func(after string, limit int) (names []string) {
		found, err := catalog.List(t.Context(), pool, "o", after, limit)
		require.NoError(t, err)
		for _, v := range found {
			names = append(names, fmt.Sprint(v.Name, v.Number))
		}
		return names
	}
	require.Equal(t, []string{"a1", "b2", "c1"}, list("", 10))
	require.Equal(t, []string{"a1", "b2"}, list("", 2))
	require.Equal(t, []string{"c1"}, list("b", 2))
	require.Empty(t, list("c", 2))
}
