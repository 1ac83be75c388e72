package ledger_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/ledger"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var noon = time.Date(2026, 10, 6, 12, 0, 0, 123456000, time.UTC)

func entry(requestID, attempt string) ledger.Entry {
	digest := sha256.Sum256([]byte(requestID))
	return ledger.Entry{Org: "o", RequestID: requestID, Digest: digest[:], Tool: "claim", RunID: "r_1",
		Attempt: attempt, NotAfter: noon}
}

func look(t *testing.T, pool *pgxpool.Pool, org, requestID string) *ledger.Entry {
	t.Helper()
	into := &ledger.Entry{}
	b := &pgx.Batch{}
	ledger.QueueLook(b, org, requestID, &into)
	require.NoError(t, pool.SendBatch(t.Context(), b).Close())
	return into
}

func reserve(t *testing.T, pool *pgxpool.Pool, e ledger.Entry) {
	t.Helper()
	existing, err := ledger.Reserve(t.Context(), pool, e)
	require.NoError(t, err)
	require.Nil(t, existing)
}

func done(ctx context.Context, pool *pgxpool.Pool, entries ...ledger.Entry) error {
	b := &pgx.Batch{}
	for _, e := range entries {
		ledger.QueueDone(b, e)
	}
	return pool.SendBatch(ctx, b).Close()
}

func with(e ledger.Entry, change func(*ledger.Entry)) ledger.Entry {
	change(&e)
	return e
}

func TestARequestNeverUsedIsNotFound(t *testing.T) {
	pool := testenv.Pool(t)
	require.Nil(t, look(t, pool, "o", "q"))
}

func TestAReservationIsReadBackAsItWasMade(t *testing.T) {
	pool := testenv.Pool(t)
	e := entry("q", "a1")
	reserve(t, pool, e)
	got := look(t, pool, "o", "q")
	require.WithinDuration(t, time.Now(), got.CreatedAt, time.Minute)
	got.CreatedAt = time.Time{}
	require.Equal(t, &e, got)

	existing, err := ledger.Reserve(t.Context(), pool, with(e, func(e *ledger.Entry) { e.Attempt, e.Digest = "a2", []byte{1} }))
	require.NoError(t, err)
	require.Equal(t, "a1", existing.Attempt)
	require.Equal(t, e.Digest, existing.Digest)
}

func TestOfTwentyWhoReserveOneRequestAtOnceOneGetsIt(t *testing.T) {
	pool := testenv.Pool(t)
	for round := range 10 {
		id := fmt.Sprint("q", round)
		var winner atomic.Value
		seen := make([]string, 20)
		var g errgroup.Group
		for i := range seen {
			g.Go(func() error {
				attempt := fmt.Sprint("a", i)
				existing, err := ledger.Reserve(t.Context(), pool, entry(id, attempt))
				if err != nil {
					return err
				}
				if existing == nil {
					if !winner.CompareAndSwap(nil, attempt) {
						return fmt.Errorf("%s won too", attempt)
					}
					return nil
				}
				seen[i] = existing.Attempt
				return nil
			})
		}
		require.NoError(t, g.Wait())
		for _, attempt := range seen {
			if attempt != "" {
				require.Equal(t, winner.Load(), attempt)
			}
		}
		require.Equal(t, winner.Load(), look(t, pool, "o", id).Attempt)
	}
}

func TestReservingWhileOthersReleaseAlwaysAnswers(t *testing.T) {
	pool := testenv.Pool(t)
	var g errgroup.Group
	var wins atomic.Int64
	for i := range 8 {
		g.Go(func() error {
			for n := range 50 {
				attempt := fmt.Sprintf("a%d.%d", i, n)
				existing, err := ledger.Reserve(t.Context(), pool, entry("q", attempt))
				if err != nil {
					return err
				}
				if existing != nil {
					continue
				}
				wins.Add(1)
				if err := ledger.Release(t.Context(), pool, "o", "q", attempt); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	require.Positive(t, wins.Load())
	require.Nil(t, look(t, pool, "o", "q"), "each winner released its own")
}

func TestOrganizationsDoNotShareRequestIds(t *testing.T) {
	pool := testenv.Pool(t)
	reserve(t, pool, entry("q", "a1"))
	other := with(entry("q", "a1"), func(e *ledger.Entry) { e.Org = "other" })
	require.Nil(t, look(t, pool, "other", "q"))
	reserve(t, pool, other)

	require.NoError(t, ledger.Release(t.Context(), pool, "other", "q", "a1"))
	require.NoError(t, ledger.DeleteRun(t.Context(), pool, "other", "r_1"))
	dropped, err := ledger.Drop(t.Context(), pool, other)
	require.NoError(t, err)
	require.False(t, dropped)
	extended, err := ledger.Extend(t.Context(), pool, "other", "q", "a1", noon.Add(time.Hour))
	require.NoError(t, err)
	require.False(t, extended)
	require.NoError(t, done(t.Context(), pool, other))
	require.False(t, look(t, pool, "o", "q").Done)
	require.Equal(t, noon, look(t, pool, "o", "q").NotAfter)
}

func TestOnlyThePendingEntryOfTheAttemptIsExtended(t *testing.T) {
	pool := testenv.Pool(t)
	reserve(t, pool, entry("q", "a1"))
	for _, c := range []struct {
		name, requestID, attempt string
		to                       time.Time
		found                    bool
		after                    time.Time
	}{
		{"another attempt", "q", "a2", noon.Add(time.Hour), false, noon},
		{"another request", "p", "a1", noon.Add(time.Hour), false, noon},
		{"a later moment", "q", "a1", noon.Add(time.Minute), true, noon.Add(time.Minute)},
		{"an earlier moment changes nothing", "q", "a1", noon, true, noon.Add(time.Minute)},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := ledger.Extend(t.Context(), pool, "o", c.requestID, c.attempt, c.to)
			require.NoError(t, err)
			require.Equal(t, c.found, found)
			require.Equal(t, c.after, look(t, pool, "o", "q").NotAfter)
		})
	}
	require.NoError(t, done(t.Context(), pool, entry("q", "a1")))
	found, err := ledger.Extend(t.Context(), pool, "o", "q", "a1", noon.Add(time.Hour))
	require.NoError(t, err)
	require.False(t, found, "done")
}

func TestOnlyThePendingEntryOfTheAttemptIsReleased(t *testing.T) {
	pool := testenv.Pool(t)
	reserve(t, pool, entry("q", "a1"))
	require.NoError(t, ledger.Release(t.Context(), pool, "o", "q", "a2"))
	require.NotNil(t, look(t, pool, "o", "q"))
	require.NoError(t, ledger.Release(t.Context(), pool, "o", "q", "a1"))
	require.Nil(t, look(t, pool, "o", "q"))

	reserve(t, pool, entry("q", "a1"))
	require.NoError(t, done(t.Context(), pool, entry("q", "a1")))
	require.NoError(t, ledger.Release(t.Context(), pool, "o", "q", "a1"))
	require.True(t, look(t, pool, "o", "q").Done)
}

func TestDropRemovesOnlyWhatHasNotChangedSince(t *testing.T) {
	pool := testenv.Pool(t)
	// Finer than Postgres keeps: what is stored must still compare equal.
	e := with(entry("q", "a1"), func(e *ledger.Entry) { e.NotAfter = noon.Add(789) })
	reserve(t, pool, e)
	for name, changed := range map[string]ledger.Entry{
		"another attempt": with(e, func(e *ledger.Entry) { e.Attempt = "a2" }),
		"another moment":  with(e, func(e *ledger.Entry) { e.NotAfter = noon.Add(-time.Microsecond) }),
	} {
		dropped, err := ledger.Drop(t.Context(), pool, changed)
		require.NoError(t, err)
		require.False(t, dropped, name)
	}
	dropped, err := ledger.Drop(t.Context(), pool, e)
	require.NoError(t, err)
	require.True(t, dropped)
	require.Nil(t, look(t, pool, "o", "q"))

	reserve(t, pool, e)
	extended, err := ledger.Extend(t.Context(), pool, "o", "q", "a1", noon.Add(time.Minute))
	require.NoError(t, err)
	require.True(t, extended)
	dropped, err = ledger.Drop(t.Context(), pool, e)
	require.NoError(t, err)
	require.False(t, dropped, "a resend put the end off")

	require.NoError(t, done(t.Context(), pool, e))
	dropped, err = ledger.Drop(t.Context(), pool, e)
	require.NoError(t, err)
	require.False(t, dropped, "done")
}

func TestTheFirstResultStands(t *testing.T) {
	pool := testenv.Pool(t)
	first := with(entry("q", "a1"), func(e *ledger.Entry) { e.Result = []byte(`{"n":12345678901234567890.123456789,"s":"\u0000"}`) })
	require.NoError(t, done(t.Context(), pool, first), "without a reservation")
	second := with(first, func(e *ledger.Entry) { e.Result, e.Attempt, e.Digest = []byte(`{}`), "a2", []byte{1} })
	require.NoError(t, done(t.Context(), pool, second))
	existing, err := ledger.Reserve(t.Context(), pool, second)
	require.NoError(t, err)
	for _, got := range []*ledger.Entry{existing, look(t, pool, "o", "q")} {
		require.True(t, got.Done)
		require.Equal(t, first.Result, got.Result)
		require.Equal(t, first.Digest, got.Digest)
		require.Equal(t, "a1", got.Attempt)
	}
}

func TestWhatTheRunExecutedReplacesAnotherPendingAttempt(t *testing.T) {
	pool := testenv.Pool(t)
	reserve(t, pool, with(entry("q", "a2"), func(e *ledger.Entry) { e.Digest, e.RunID, e.Tool = []byte{1}, "r_2", "renew" }))
	executed := with(entry("q", "a1"), func(e *ledger.Entry) { e.Result = bytes.Repeat([]byte("x"), 1<<20) })
	require.NoError(t, done(t.Context(), pool, executed))
	got := look(t, pool, "o", "q")
	got.CreatedAt = time.Time{}
	executed.Done = true
	require.Equal(t, &executed, got)
}

func TestAResultStoredByTwoAtOnceIsStoredOnce(t *testing.T) {
	pool := testenv.Pool(t)
	var g errgroup.Group
	for i := range 10 {
		g.Go(func() error {
			var entries []ledger.Entry
			for n := range 10 {
				entries = append(entries, with(entry(fmt.Sprint("q", n), "a"), func(e *ledger.Entry) { e.Result = []byte{byte(i)} }))
			}
			return done(t.Context(), pool, entries...)
		})
	}
	require.NoError(t, g.Wait())
	first := look(t, pool, "o", "q0").Result
	for n := range 10 {
		require.Equal(t, first, look(t, pool, "o", fmt.Sprint("q", n)).Result, "a batch is stored whole")
	}
}

func TestOverdueListsPendingEntriesOfAllOrganizationsTheLongestOverdueFirst(t *testing.T) {
	pool := testenv.Pool(t)
	for i, org := range []string{"b", "a", "c", "d"} {
		reserve(t, pool, with(entry(fmt.Sprint("q", i), "a"), func(e *ledger.Entry) {
			e.Org, e.NotAfter = org, noon.Add(-time.Duration(i)*time.Minute)
		}))
	}
	require.NoError(t, done(t.Context(), pool, with(entry("q3", "a"), func(e *ledger.Entry) { e.Org = "d" })))

	ids := func(before time.Time, limit int) (ids []string) {
		found, err := ledger.Overdue(t.Context(), pool, before, limit)
		require.NoError(t, err)
		for _, e := range found {
			ids = append(ids, e.Org+"/"+e.RequestID)
			dropped, err := ledger.Drop(t.Context(), pool, with(e, func(e *ledger.Entry) { e.NotAfter = e.NotAfter.Add(time.Second) }))
			require.NoError(t, err)
			require.False(t, dropped)
		}
		return ids
	}
	require.Equal(t, []string{"c/q2", "a/q1"}, ids(noon, 10), "not after the moment itself")
	require.Equal(t, []string{"c/q2", "a/q1", "b/q0"}, ids(noon.Add(1000), 10))
	require.Equal(t, []string{"c/q2"}, ids(noon, 1))
}

func TestDeletingARunRemovesItsRequestsAndNoOthers(t *testing.T) {
	pool := testenv.Pool(t)
	reserve(t, pool, entry("pending", "a"))
	require.NoError(t, done(t.Context(), pool, entry("done", "a")))
	reserve(t, pool, with(entry("other run", "a"), func(e *ledger.Entry) { e.RunID = "r_2" }))
	reserve(t, pool, with(entry("upload", "a"), func(e *ledger.Entry) { e.RunID = "" }))

	require.NoError(t, ledger.DeleteRun(t.Context(), pool, "o", "r_1"))
	require.NoError(t, ledger.DeleteRun(t.Context(), pool, "o", ""))
	require.Nil(t, look(t, pool, "o", "pending"))
	require.Nil(t, look(t, pool, "o", "done"))
	require.NotNil(t, look(t, pool, "o", "other run"))
	require.NotNil(t, look(t, pool, "o", "upload"))
}
