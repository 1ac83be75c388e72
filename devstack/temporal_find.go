package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

const (
	// TemporalVersion is the version of the `temporal` command that is built
	// when none is found.
	TemporalVersion = "v1.5.1"
	temporalPackage = "github.com/temporalio/cli/cmd/temporal"

	// envTemporal names the `temporal` command to use.
	envTemporal = "AGENTPROCESS_TEMPORAL"

	// oldestMinor is the oldest Temporal server, 1.x, whose dev server is taken
	// from PATH: the first with update-with-start for everyone.
	oldestMinor = 28
)

// ErrNoTemporal means that there is no `temporal` command and that none could
// be built. The error that wraps it says what to do.
var ErrNoTemporal = errors.New("no Temporal dev server found")

// findTemporal returns the path of the `temporal` command, and builds it if
// there is none. Where the user has no cache, it is kept in dir.
func findTemporal(ctx context.Context, given, dir string, log io.Writer) (string, error) {
	if given == "" {
		given = os.Getenv(envTemporal)
	}
	if given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrNoTemporal, err)
		}
		return filepath.Abs(path)
	}
	if path, err := exec.LookPath("temporal"); err == nil && recent(ctx, path) {
		return filepath.Abs(path)
	}
	cache, err := cacheDir(dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "temporal-"+TemporalVersion)
	if executable(path) {
		return path, nil
	}
	return path, buildTemporal(ctx, path, log)
}

var serverVersion = regexp.MustCompile(`Server (\d+)\.(\d+)`)

// recent reports whether a command on PATH is new enough. A version that
// cannot be read counts as new enough: the user chose it.
func recent(ctx context.Context, path string) bool {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return false
	}
	m := serverVersion.FindSubmatch(out)
	if m == nil {
		return true
	}
	major, _ := strconv.Atoi(string(m[1]))
	minor, _ := strconv.Atoi(string(m[2]))
	return major > 1 || major == 1 && minor >= oldestMinor
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// cacheDir is agentprocess/bin in the user's cache; accounts without a home
// have none, and get one in dir.
func cacheDir(dir string) (string, error) {
	base, err := os.UserCacheDir()
	if err == nil {
		cache := filepath.Join(base, "agentprocess", "bin")
		if err = os.MkdirAll(cache, 0o755); err == nil {
			return cache, nil
		}
	}
	if dir == "" {
		return "", fmt.Errorf("%w, and nowhere to build one (%w): set %s to the `temporal` command", ErrNoTemporal, err, envTemporal)
	}
	cache := filepath.Join(dir, "bin")
	return cache, os.MkdirAll(cache, 0o755)
}
