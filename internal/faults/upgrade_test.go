package main

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fromVariable names the commit from which to upgrade; the one before by default.
const fromVariable = "AGENTPROCESS_UPGRADE_FROM"

func upgradeFrom() string { return cmp.Or(os.Getenv(fromVariable), "HEAD~1") }

func TestALiveStackIsUpgradedFromTheCommitBeforeAndNothingIsLost(t *testing.T) {
	found := try(t, options{seed: 7, duration: 24 * time.Second, source: checkout(t), from: upgradeFrom(), calm: true})
	for _, each := range found.violations {
		t.Errorf("%.4000s", each)
	}
	require.Greater(t, found.report.acknowledged, 50, "there was work under way")
}

func TestThereIsNothingToUpgradeFromWithoutHistory(t *testing.T) {
	for name, c := range map[string]struct{ source, ref string }{
		"an unpacked archive":            {t.TempDir(), "HEAD~1"},
		"a folder in another repository": {filepath.Join(checkout(t), "internal"), "HEAD"},
		"a shallow clone":                {checkout(t), "HEAD~100000"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := previous(t.Context(), c.source, c.ref, t.TempDir())
			require.ErrorIs(t, err, errNoHistory)
		})
	}
}

func TestAnUpgradeThatDoesNotReplayOpenRunsIsFound(t *testing.T) {
	if os.Getenv(patchesVariable) == "" {
		t.Skipf("takes minutes: set %s to run it", patchesVariable)
	}
	source := patched(t, "testdata/upgrade/without-getversion.patch")
	found := try(t, options{seed: 7, duration: 24 * time.Second, source: source, repository: checkout(t), from: "HEAD", calm: true})
	require.NotEmpty(t, found.violations)
	t.Logf("%d, the first: %.600s", len(found.violations), found.violations[0])
}
