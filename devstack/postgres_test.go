//go:build unix

package devstack

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// stackDir is a directory that any user can enter, unlike t.TempDir for some.
func stackDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "devstack-test-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o711))
	return dir
}

func startPostgres(t *testing.T, opts PostgresOptions) *Postgres {
	t.Helper()
	p, err := StartPostgres(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(p.Stop)
	return p
}

func query(t *testing.T, dsn, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var s string
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&s))
	return s
}

func keepSomething(t *testing.T, dsn string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 'yes' AS v")
	require.NoError(t, err)
}

func TestPostgresGoesOnWhereItWas(t *testing.T) {
	dir := stackDir(t)
	p := startPostgres(t, PostgresOptions{Dir: dir})
	require.Equal(t, "on", query(t, p.DSN("postgres"), "SHOW fsync"), "a development stack is durable")
	require.Equal(t, "UTF8", query(t, p.DSN("postgres"), "SHOW server_encoding"))
	require.Equal(t, "C", query(t, p.DSN("postgres"), "SELECT datcollate FROM pg_database WHERE datname='template1'"))
	require.Equal(t, host, query(t, p.DSN("postgres"), "SHOW listen_addresses"))
	require.NoError(t, p.EnsureDatabase(t.Context(), "a-b"))
	require.NoError(t, p.EnsureDatabase(t.Context(), "a-b"), "an existing database is left alone")
	keepSomething(t, p.DSN("a-b"))
	port := p.Port
	p.Stop()
	p.Stop()

	again := startPostgres(t, PostgresOptions{Dir: dir, Fast: true})
	require.Equal(t, port, again.Port, "the port it had is taken again when free")
	require.Equal(t, "yes", query(t, again.DSN("a-b"), "SELECT v FROM kept"))
	require.Equal(t, "off", query(t, again.DSN("postgres"), "SHOW fsync"))
}

func TestPostgresRefusesAWrongPassword(t *testing.T) {
	p := startPostgres(t, PostgresOptions{Dir: stackDir(t), Fast: true})
	_, err := pgx.Connect(t.Context(), strings.Replace(p.DSN("postgres"), p.home.Password, "guess", 1))
	require.ErrorContains(t, err, "28P01")
	info, err := os.Stat(p.home.file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestPostgresTakesAFreePortWhenTheWantedOneIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", address(0))
	require.NoError(t, err)
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	p := startPostgres(t, PostgresOptions{Dir: stackDir(t), Fast: true, Port: taken})
	require.NotEqual(t, taken, p.Port)
	require.Equal(t, "1", query(t, p.DSN("postgres"), "SELECT '1'"))
}

func TestTwoPostgresRunSideBySideButNotOnOneDirectory(t *testing.T) {
	dir := stackDir(t)
	a := startPostgres(t, PostgresOptions{Dir: dir, Fast: true})
	b := startPostgres(t, PostgresOptions{Dir: stackDir(t), Fast: true})
	require.NotEqual(t, a.Port, b.Port)

	_, err := StartPostgres(t.Context(), PostgresOptions{Dir: dir, Fast: true})
	var inUse *InUseError
	require.ErrorAs(t, err, &inUse)
	require.Equal(t, os.Getpid(), inUse.PID)
	require.ErrorContains(t, err, strconv.Itoa(os.Getpid()))
	require.Equal(t, "1", query(t, a.DSN("postgres"), "SELECT '1'"), "the first is undisturbed")
}

func TestPostgresStartsAfterItWasKilled(t *testing.T) {
	dir := stackDir(t)
	p := startPostgres(t, PostgresOptions{Dir: dir})
	keepSomething(t, p.DSN("postgres"))
	conn, err := pgx.Connect(t.Context(), p.DSN("postgres")) // a backend to be orphaned
	require.NoError(t, err)
	defer conn.Close(context.Background())
	require.NoError(t, syscall.Kill(p.PID(), syscall.SIGKILL))
	<-p.Done()
	p.Stop()
	require.FileExists(t, filepath.Join(p.home.data(), "postmaster.pid"))

	again := startPostgres(t, PostgresOptions{Dir: dir})
	require.Equal(t, "yes", query(t, again.DSN("postgres"), "SELECT v FROM kept"))
}

func TestPostgresEndsALivingPredecessorOfItsOwnDirectory(t *testing.T) {
	dir := stackDir(t)
	p := startPostgres(t, PostgresOptions{Dir: dir, Fast: true})
	keepSomething(t, p.DSN("postgres"))
	p.lock.Unlock() // as if its stack had died and the server had not

	again := startPostgres(t, PostgresOptions{Dir: dir, Fast: true})
	<-p.Done()
	require.NoError(t, p.child.err, "it was shut down, not killed")
	require.Equal(t, "yes", query(t, again.DSN("postgres"), "SELECT v FROM kept"))
}

func TestPostgresIsNotMisledByAPidFileThatNamesAStranger(t *testing.T) {
	dir := stackDir(t)
	p := startPostgres(t, PostgresOptions{Dir: dir, Fast: true})
	p.Stop()
	file := filepath.Join(p.home.data(), "postmaster.pid")
	stranger := startStranger(t, p.home.user)
	require.NoError(t, os.WriteFile(file, []byte(strconv.Itoa(stranger.pid())+"\n"+p.home.data()+"\n1\n1\n\n\n\n\n"), 0o644))

	again := startPostgres(t, PostgresOptions{Dir: dir, Fast: true})
	require.Equal(t, "1", query(t, again.DSN("postgres"), "SELECT '1'"))
	require.True(t, alive(stranger.pid()), "the stranger is left alone")
}

func startStranger(t *testing.T, as *account) *child {
	t.Helper()
	c, err := startChild(childSpec{path: "/bin/sh", args: []string{"-c", "exec sleep 1000"}, dir: "/", user: as, onDeath: syscall.SIGKILL})
	require.NoError(t, err)
	t.Cleanup(func() { c.stop(0) })
	return c
}

func TestPostgresMakesTheClusterAnewAfterAnInterruptedStart(t *testing.T) {
	dir := stackDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	log := &onFirstWrite{f: cancel} // initdb has begun
	_, err := StartPostgres(ctx, PostgresOptions{Dir: dir, Fast: true, Log: log})
	require.ErrorIs(t, err, context.Canceled)

	p := startPostgres(t, PostgresOptions{Dir: dir, Fast: true})
	require.Equal(t, "1", query(t, p.DSN("postgres"), "SELECT '1'"))
}

type onFirstWrite struct{ f func() }

func (w *onFirstWrite) Write(p []byte) (int, error) { w.f(); return len(p), nil }

func TestPostgresLivesElsewhereWhenItsUserCannotEnterTheDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs PostgreSQL as another user")
	}
	closed, err := os.MkdirTemp("", "devstack-test-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(closed) })
	require.NoError(t, os.Chmod(closed, 0o700))
	dir := filepath.Join(closed, "stack")

	for _, fast := range []bool{true, false} {
		p := startPostgres(t, PostgresOptions{Dir: dir, Fast: fast})
		require.NotContains(t, p.home.Home, closed)
		keepSomething(t, p.DSN("postgres"))
		p.Stop()

		again := startPostgres(t, PostgresOptions{Dir: dir, Fast: fast})
		require.Equal(t, "yes", query(t, again.DSN("postgres"), "SELECT v FROM kept"))
		require.NoError(t, again.Remove())
		require.NoDirExists(t, p.home.Home)
	}
}

func TestWithoutPostgresTheErrorSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(envPostgres, "")
	_, err := findPostgres(t.Context(), 0, []string{t.TempDir() + "/*/bin"})
	require.ErrorIs(t, err, ErrNoPostgres)
	require.ErrorContains(t, err, "apt-get install postgresql")
	require.ErrorContains(t, err, "brew install postgresql")
}

func TestPostgresIsFoundOutsidePathAndTheNewestIsTaken(t *testing.T) {
	root := t.TempDir()
	for _, v := range []string{"9", "14", "16"} {
		dir := filepath.Join(root, v, "bin")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + v + ".1 (Test)'\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "postgres"), []byte(script), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "initdb"), nil, 0o755))
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv(envPostgres, "")
	b, err := findPostgres(t.Context(), 0, []string{root + "/*/bin"})
	require.NoError(t, err)
	require.Equal(t, 16, b.major)

	b, err = findPostgres(t.Context(), 14, []string{root + "/*/bin"})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "14", "bin"), b.dir, "the version that wrote the data directory is taken")

	_, err = findPostgres(t.Context(), 15, []string{root + "/*/bin"})
	require.ErrorIs(t, err, ErrNoPostgres)
	require.ErrorContains(t, err, "version 15")
}
