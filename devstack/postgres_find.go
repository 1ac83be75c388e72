package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// ErrNoPostgres means that no PostgreSQL server program is installed where it
// is looked for. The error that wraps it says what to install.
var ErrNoPostgres = errors.New("no PostgreSQL server found")

// envPostgres names the folder of the PostgreSQL programs to use.
const envPostgres = "AGENTPROCESS_POSTGRES_BIN"

// pgBinaries is one installation of the server.
type pgBinaries struct {
	dir   string
	major int
}

func (b pgBinaries) path(program string) string { return filepath.Join(b.dir, program) }

// installed is where packages put the programs that they leave out of PATH:
// Debian, Red Hat, source builds, Homebrew, MacPorts, Postgres.app.
var installed = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/usr/libexec/postgresql*",
	"/usr/local/pgsql/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
	"/opt/local/lib/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// findPostgres returns the server on PATH, else the newest installed one. A
// major version other than 0 accepts that one only: a data directory can be
// read by the version that wrote it and by no other.
func findPostgres(ctx context.Context, major int, patterns []string) (pgBinaries, error) {
	var first []string
	if dir := os.Getenv(envPostgres); dir != "" {
		first = append(first, dir)
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			first = append(first, filepath.Dir(path))
		}
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		first = append(first, strings.TrimSpace(string(out)))
	}
	var seen []string
	check := func(dir string) (pgBinaries, bool) {
		v := majorVersion(ctx, dir)
		if v == 0 {
			return pgBinaries{}, false
		}
		seen = append(seen, fmt.Sprintf("%d in %s", v, dir))
		return pgBinaries{dir: dir, major: v}, major == 0 || v == major
	}
	for _, dir := range first {
		if b, ok := check(dir); ok {
			return b, nil
		}
	}
	var rest []pgBinaries
	for _, pattern := range patterns {
		dirs, _ := filepath.Glob(pattern)
		for _, dir := range dirs {
			if b, ok := check(dir); ok {
				rest = append(rest, b)
			}
		}
	}
	sort.SliceStable(rest, func(i, j int) bool { return rest[i].major > rest[j].major })
	if len(rest) > 0 {
		return rest[0], nil
	}
	if len(seen) > 0 {
		return pgBinaries{}, fmt.Errorf("%w of version %d, which wrote the data directory (found: %s)",
			ErrNoPostgres, major, strings.Join(seen, ", "))
	}
	return pgBinaries{}, fmt.Errorf("%w: install the PostgreSQL server, version 13 or later "+
		"(Debian and Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; "+
		"Alpine: apk add postgresql; macOS: brew install postgresql), or set %s to the folder of its programs",
		ErrNoPostgres, envPostgres)
}

var versionNumber = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// majorVersion is 0 where there is no usable server.
func majorVersion(ctx context.Context, dir string) int {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return 0
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0
	}
	m := versionNumber.FindSubmatch(out)
	if m == nil {
		return 0
	}
	v, _ := strconv.Atoi(string(m[1]))
	return v
}
