package interop_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	modules = "node_modules"
	// stamp is in modules, and holds the digest of the lock file that they are of.
	stamp = ".interop"

	installTime = 5 * time.Minute
	// commandTime is ten times what the slowest command here takes.
	commandTime = time.Minute
)

// atFault are the errors of npm that are this folder's own: a lock file that does
// not fit package.json, or a package that does not fit the lock file.
var atFault = regexp.MustCompile(`npm error code (EUSAGE|EINTEGRITY|EJSONPARSE|ERESOLVE)`)

// requirePackages installs what the lock file names, once, and skips the test
// where there is no Node or where they cannot be fetched.
func requirePackages(t *testing.T) {
	t.Helper()
	if err := packages(); err != nil {
		require.NotRegexp(t, atFault, err.Error())
		t.Skip(err)
	}
}

var packages = sync.OnceValue(func() error {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is not installed: %w", tool, err)
		}
	}
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		return err
	}
	digest := sha256.Sum256(lock)
	want := hex.EncodeToString(digest[:])
	if have, err := os.ReadFile(filepath.Join(modules, stamp)); err == nil && string(have) == want {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), installTime)
	defer cancel()
	// It begins by removing modules, and the stamp with it.
	if got := command(ctx, nil, "npm", "ci", "--loglevel=error"); got.err != nil {
		return fmt.Errorf("the packages could not be fetched: npm ci: %w\n%s", got.err, got.stderr)
	}
	return os.WriteFile(filepath.Join(modules, stamp), []byte(want), 0o600)
})

// output is what a command left behind.
type output struct {
	stdout, stderr []byte
	code           int   // its exit code
	err            error // unless it ended by itself with 0
}

// node runs a script of this folder or of a package with further environment
// variables.
func node(t *testing.T, env []string, args ...string) output {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	// Nothing is read from the home of whoever tests, nor written there, and no
	// proxy stands between.
	env = append(env, "HOME="+t.TempDir(), "NO_PROXY=127.0.0.1")
	got := command(ctx, env, "node", args...)
	require.NoError(t, ctx.Err(), "%v\n%s%s", args, got.stdout, got.stderr)
	return got
}

// command runs a program and whatever that starts; all of it is killed when the
// context ends.
func command(ctx context.Context, env []string, name string, args ...string) output {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second // for pipes that something else still holds
	err := cmd.Run()
	got := output{stdout: stdout.Bytes(), stderr: stderr.Bytes(), err: err}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got.code = exit.ExitCode()
	}
	return got
}
