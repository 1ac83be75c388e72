package audit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/audit"
	"github.com/agentprocess-temporal/server/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var a1 = identity.Caller{Org: "acme", Subject: "a1", Kind: identity.Agent, Client: "c", OnBehalfOf: "mira@example.com"}

func TestARowIsReadBackAsItWasWritten(t *testing.T) {
	pool := testenv.Pool(t)
	e := audit.Of(a1, "claim")
	e.RunID, e.RequestID, e.Result = "r_1", "q", audit.OK
	require.NoError(t, audit.Insert(t.Context(), pool, e))
	got, err := audit.List(t.Context(), pool, audit.Query{Org: "acme"})
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.NotZero(t, got[0].At)
	e.ID, e.At = got[0].ID, got[0].At
	require.Equal(t, e, got[0])
}

func TestTheLogOnlyGrows(t *testing.T) {
	pool := testenv.Pool(t)
	require.NoError(t, audit.Insert(t.Context(), pool, audit.Of(a1, "claim")))
	for _, sql := range []string{
		`UPDATE audit SET caller = 'somebody else'`, `DELETE FROM audit`, `TRUNCATE audit`,
		`INSERT INTO audit SELECT * FROM audit`,
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.Error(t, err, sql)
	}
	got, err := audit.List(t.Context(), pool, audit.Query{Org: "acme", Caller: "a1"})
	require.NoError(t, err)
	require.Len(t, got, 1)
}

func TestAWriteAndItsRowAreThereTogetherOrNotAtAll(t *testing.T) {
	pool := testenv.Pool(t)
	ctx, wrote := audit.With(t.Context(), audit.Of(a1, "claim"))
	require.False(t, wrote())
	b := &pgx.Batch{}
	audit.Queue(ctx, b, "r_1", audit.OK)
	require.True(t, wrote())
	b.Queue(`SELECT 1/0`)
	require.Error(t, pool.SendBatch(ctx, b).Close())
	got, err := audit.List(t.Context(), pool, audit.Query{Org: "acme"})
	require.NoError(t, err)
	require.Empty(t, got)

	b = &pgx.Batch{}
	audit.Queue(ctx, b, "r_1", audit.OK)
	audit.Queue(t.Context(), b, "r_2", audit.OK) // of no call
	require.NoError(t, pool.SendBatch(ctx, b).Close())
	got, err = audit.List(t.Context(), pool, audit.Query{Org: "acme"})
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "r_1", got[0].RunID)
}

func TestAListIsOfOneOrganizationAndComesInPages(t *testing.T) {
	pool := testenv.Pool(t)
	for _, org := range []string{"acme", "other", "acme", ""} {
		e := audit.Of(identity.Caller{Org: org, Subject: "x"}, "claim")
		require.NoError(t, audit.Insert(t.Context(), pool, e))
	}
	first, err := audit.List(t.Context(), pool, audit.Query{Org: "acme", Limit: 1})
	require.NoError(t, err)
	require.Len(t, first, 1)
	rest, err := audit.List(t.Context(), pool, audit.Query{Org: "acme", After: first[0].Place()})
	require.NoError(t, err)
	require.Len(t, rest, 1)
	for _, place := range []string{"x", "1", "1.x", "-1." + first[0].ID, first[0].ID} {
		_, err := audit.List(t.Context(), pool, audit.Query{Org: "acme", After: place})
		require.ErrorIs(t, err, audit.ErrPlace, place)
	}
	nobody, err := audit.List(t.Context(), pool, audit.Query{})
	require.NoError(t, err)
	require.Len(t, nobody, 1)
}

func TestARecoveredWriteIsListedUnlessItsOwnRowCame(t *testing.T) {
	pool := testenv.Pool(t)
	b := &pgx.Batch{}
	for _, id := range []string{"gone", "slow"} {
		audit.QueueRecovered(b, audit.Of(a1, "decide"), "r_1", id)
	}
	e := audit.Of(a1, "decide")
	e.RunID, e.RequestID = "r_1", "slow"
	ctx, _ := audit.With(t.Context(), e)
	audit.Queue(ctx, b, "r_1", audit.OK)
	require.NoError(t, pool.SendBatch(ctx, b).Close())
	got, err := audit.List(t.Context(), pool, audit.Query{Org: "acme"})
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, "gone recovered", got[0].RequestID+" "+got[0].Result)
	require.Equal(t, a1.Subject+" "+a1.Client, got[0].Caller+" "+got[0].Client)
	require.Equal(t, "slow ok", got[1].RequestID+" "+got[1].Result)
}

func TestWhateverACallerChoseFitsIntoARow(t *testing.T) {
	pool := testenv.Pool(t)
	e := audit.Of(identity.Caller{Org: "acme", Subject: "a\x00b\xff", Client: strings.Repeat("ü", 5000)}, "claim")
	e.RequestID = "\x00"
	require.NoError(t, audit.Insert(t.Context(), pool, e))
	got, err := audit.List(t.Context(), pool, audit.Query{Org: "acme"})
	require.NoError(t, err)
	require.Equal(t, "a\uFFFDb\uFFFD", got[0].Caller)
	require.Less(t, len(got[0].Client), 600)
}

func TestWhetherSomethingHappenedToARun(t *testing.T) {
	pool := testenv.Pool(t)
	began := time.Now().Add(-time.Minute)
	happened := func(since time.Time) bool {
		t.Helper()
		ok, err := audit.Happened(t.Context(), pool, "acme", "r_1", "delete_run", since)
		require.NoError(t, err)
		return ok
	}
	add := func(run, result string) {
		t.Helper()
		e := audit.Of(a1, "delete_run")
		e.RunID, e.Result = run, result
		require.NoError(t, audit.Insert(t.Context(), pool, e))
	}
	add("r_2", audit.OK)
	require.False(t, happened(began), "that was another run")
	add("r_1", audit.Begun)
	require.True(t, happened(began), "it is not known to have been refused")
	add("r_1", "conflict")
	require.False(t, happened(began))
	add("r_1", audit.OK)
	add("r_1", audit.Begun)
	add("r_1", "not_found")
	require.True(t, happened(began))
	require.False(t, happened(time.Now().Add(time.Minute)), "another run of that id began since")
}
