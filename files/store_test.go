package files_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/files"
	"github.com/agentprocess-temporal/server/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func describe(org, id string, content []byte) files.File {
	sum := sha256.Sum256(content)
	return files.File{Org: org, ID: id, Name: "a\x00 name.pdf", ContentType: "application/pdf\x00",
		SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content)), By: "a_screener"}
}

func put(t *testing.T, pool *pgxpool.Pool, f files.File, content []byte) {
	t.Helper()
	b := &pgx.Batch{}
	files.QueuePut(b, f, content)
	require.NoError(t, pool.SendBatch(t.Context(), b).Close())
}

func TestAnUploadIsReadBackByteForByte(t *testing.T) {
	pool := testenv.Pool(t)
	large := make([]byte, 10<<20)
	_, _ = rand.Read(large)
	for name, content := range map[string][]byte{"empty": {}, "nul": {0, 1, 0xff}, "large": large} {
		t.Run(name, func(t *testing.T) {
			f := describe("o", name, content)
			put(t, pool, f, content)
			got, stored, err := files.Open(t.Context(), pool, "o", name)
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), got.CreatedAt, time.Minute)
			got.CreatedAt = time.Time{}
			require.Equal(t, &f, got)
			require.True(t, bytes.Equal(content, stored))
		})
	}
	put(t, pool, describe("o", "nil", nil), nil)
	_, stored, err := files.Open(t.Context(), pool, "o", "nil")
	require.NoError(t, err)
	require.Empty(t, stored)
}

func TestAnUploadIsStoredOnceHoweverOftenItIsRetried(t *testing.T) {
	pool := testenv.Pool(t)
	var g errgroup.Group
	for range 10 {
		g.Go(func() error {
			b := &pgx.Batch{}
			files.QueuePut(b, describe("o", "f", []byte("first")), []byte("first"))
			return pool.SendBatch(t.Context(), b).Close()
		})
	}
	require.NoError(t, g.Wait())
	put(t, pool, describe("o", "f", []byte("second")), []byte("second"))
	_, content, err := files.Open(t.Context(), pool, "o", "f")
	require.NoError(t, err)
	require.Equal(t, "first", string(content))
}

func TestAnUploadOfAnotherOrganizationIsNotThere(t *testing.T) {
	pool := testenv.Pool(t)
	put(t, pool, describe("o", "f", nil), nil)
	f, _, err := files.Open(t.Context(), pool, "other", "f")
	require.NoError(t, err)
	require.Nil(t, f)
	facts, err := files.Verify(t.Context(), pool, "other", []string{"f"})
	require.NoError(t, err)
	require.Empty(t, facts)

	put(t, pool, describe("other", "f", []byte("theirs")), []byte("theirs"))
	_, content, err := files.Open(t.Context(), pool, "o", "f")
	require.NoError(t, err)
	require.Empty(t, content)
}

func TestVerifyTellsWhetherTheBytesAreStillThoseUploaded(t *testing.T) {
	pool := testenv.Pool(t)
	for _, id := range []string{"kept", "changed", "lost"} {
		put(t, pool, describe("o", id, []byte(id)), []byte(id))
	}
	_, err := pool.Exec(t.Context(), `UPDATE files SET content = 'Changed' WHERE id = 'changed'`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `UPDATE files SET content = '' WHERE id = 'lost'`)
	require.NoError(t, err)

	facts, err := files.Verify(t.Context(), pool, "o", []string{"kept", "changed", "lost", "never", "kept", "made\x00up", "\xff", ""})
	require.NoError(t, err)
	require.Equal(t, map[string]files.Fact{
		"kept":    {SHA256: describe("o", "", []byte("kept")).SHA256, Intact: true},
		"changed": {SHA256: describe("o", "", []byte("changed")).SHA256},
		"lost":    {SHA256: describe("o", "", []byte("lost")).SHA256},
	}, facts)

	facts, err = files.Verify(t.Context(), pool, "o", nil)
	require.NoError(t, err)
	require.Empty(t, facts)
}
