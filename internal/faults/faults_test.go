package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// checkout is the top of this module.
func checkout(t *testing.T) string {
	dir, err := filepath.Abs("../..")
	require.NoError(t, err)
	return dir
}

// breakIt runs the harness, and removes what it leaves unless the test failed.
func breakIt(t *testing.T, source string, seed uint64, duration time.Duration) *outcome {
	t.Helper()
	return try(t, options{seed: seed, duration: duration, source: source})
}

func try(t *testing.T, o options) *outcome {
	t.Helper()
	dir, err := os.MkdirTemp("", "agentprocess-faults-") //nolint:usetesting // kept where something was violated
	require.NoError(t, err)
	var said bytes.Buffer
	o.dir, o.verbose, o.out = dir, true, &said
	found, err := harness(t.Context(), o)
	if errors.Is(err, errNoHistory) {
		t.Skip(err)
	}
	require.NoError(t, err, "%s", &said)
	found.report.write(&said)
	t.Logf("%s", &said)
	t.Cleanup(func() {
		if !t.Failed() {
			_ = os.RemoveAll(dir) // a left-over temporary folder fails no test
		}
	})
	return found
}

func TestFaultsShort(t *testing.T) {
	found := breakIt(t, checkout(t), 7, 14*time.Second)
	for _, each := range found.violations {
		t.Errorf("%.4000s", each)
	}
	require.Greater(t, found.report.acknowledged, 10, "something happened")
	require.Positive(t, found.report.resent, "something was in the way")
	require.NotEmpty(t, found.report.points, "somebody died at a point")
}

// patchesVariable asks for the test that takes minutes: whether the harness finds
// what it is there to find.
const patchesVariable = "AGENTPROCESS_FAULTS_PATCHES"

func TestTheHarnessFindsWhatThePatchesBreak(t *testing.T) {
	if os.Getenv(patchesVariable) == "" {
		t.Skipf("takes minutes: set %s to run it", patchesVariable)
	}
	patches, err := filepath.Glob("testdata/*.patch")
	require.NoError(t, err)
	require.Len(t, patches, 3)
	for _, patch := range patches {
		t.Run(filepath.Base(patch), func(t *testing.T) {
			source := patched(t, patch)
			for seed := range uint64(4) {
				if found := breakIt(t, source, seed, 40*time.Second); len(found.violations) > 0 {
					t.Logf("found with seed %d: %.600s", seed, found.violations[0])
					return
				}
			}
			t.Error("the harness found nothing")
		})
	}
}

// patched is a copy of the checkout with a patch applied.
func patched(t *testing.T, patch string) string {
	t.Helper()
	from, to := checkout(t), t.TempDir()
	patch, err := filepath.Abs(patch)
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (d.Name() == ".git" || name == "bin" || name == ".dev"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o600)
	}))
	cmd := exec.CommandContext(t.Context(), "git", "apply", "-C1", patch)
	cmd.Dir = to
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s no longer fits the code: %s", patch, said)
	return to
}
