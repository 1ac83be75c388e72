package secretfile_test

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/secretfile"
)

func random() ([]byte, error) { return []byte(rand.Text()), nil }

func TestEnsureWritesOnceForTheOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	first, err := secretfile.Ensure(path, random)
	require.NoError(t, err)
	require.NotEmpty(t, first)

	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())

	again, err := secretfile.Ensure(path, func() ([]byte, error) {
		t.Fatal("an existing file needs no new content")
		return nil, nil
	})
	require.NoError(t, err)
	require.Equal(t, first, again)

	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary file stays behind")
}

func TestEnsureFromManySidesAgreesOnOneContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	const sides = 16
	got := make([]string, sides)
	errs := make([]error, sides)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range sides {
		done.Go(func() {
			start.Wait()
			data, err := secretfile.Ensure(path, random)
			got[i], errs[i] = string(data), err
		})
	}
	start.Done()
	done.Wait()
	for i := range sides {
		require.NoError(t, errs[i])
		require.Equal(t, got[0], got[i])
	}
}

func TestEnsureReportsWhatWentWrong(t *testing.T) {
	boom := errors.New("boom")
	path := filepath.Join(t.TempDir(), "secret")
	_, err := secretfile.Ensure(path, func() ([]byte, error) { return nil, boom })
	require.ErrorIs(t, err, boom)
	require.NoFileExists(t, path)

	_, err = secretfile.Ensure(filepath.Join(t.TempDir(), "none", "secret"), random)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestReadRefusesALargeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, make([]byte, secretfile.MaxBytes+1), 0o600))
	_, err := secretfile.Read(path)
	require.ErrorContains(t, err, "larger than")
}
