package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// superuser is the role that owns the cluster.
const superuser = "agentprocess"

// PostgresOptions says where a private PostgreSQL lives.
type PostgresOptions struct {
	// Dir keeps the cluster and its password, from one start to the next; it
	// is made if missing. Started by root, PostgreSQL runs as another user; if
	// that user cannot enter Dir, the cluster lives under
	// /var/lib/agentprocess (with Fast: under /tmp) and Dir remembers where.
	Dir string
	// Port to listen on. 0 means the port it had last, or any. A port that is
	// taken is replaced by a free one.
	Port int
	// Fast gives up durability against a crash of the machine. For tests.
	Fast bool
	// Log receives the server's messages; nil drops them.
	Log io.Writer
}

// Postgres is a running server that ends with this process.
type Postgres struct {
	// Port it listens on, on 127.0.0.1.
	Port int

	home  *pgHome
	child *child
	lock  *DirLock
	stop  sync.Once
}

// StartPostgres starts the server of opts.Dir and returns when it accepts
// connections; a new directory becomes a new cluster first. ctx bounds the
// start only. What a killed predecessor left behind in Dir is ended first.
//
// Errors: one that wraps ErrNoPostgres where none is installed; *InUseError
// while another process runs the PostgreSQL of this directory.
func StartPostgres(ctx context.Context, opts PostgresOptions) (_ *Postgres, err error) {
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, err
	}
	held, err := lock(dir, "postgres.lock")
	if err != nil {
		return nil, err
	}
	p := &Postgres{lock: held}
	defer func() {
		if err != nil {
			held.Unlock()
		}
	}()
	if p.home, err = openHome(ctx, dir, opts.Fast); err != nil {
		return nil, err
	}
	bin, err := findPostgres(ctx, clusterVersion(p.home.data()), installed)
	if err != nil {
		return nil, err
	}
	if err = initCluster(ctx, bin, p.home, opts); err != nil {
		return nil, fmt.Errorf("make a database cluster: %w", err)
	}
	if err = endLeftover(ctx, p.home.data()); err != nil {
		return nil, err
	}
	wanted := opts.Port
	if wanted == 0 {
		wanted = p.home.Port
	}
	if err = p.start(ctx, bin, wanted, opts); err != nil {
		return nil, err
	}
	p.home.Port = p.Port
	if err = p.home.save(); err != nil {
		p.child.stop(stopGrace, syscall.SIGINT, syscall.SIGQUIT)
		return nil, err
	}
	return p, nil
}

// clusterVersion is the major version that wrote a cluster, 0 if there is none.
func clusterVersion(data string) int {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return 0
	}
	v, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return v
}

// initCluster makes the cluster beside its place and moves it there when it is
// whole, so that an interrupted start leaves nothing that looks like one.
func initCluster(ctx context.Context, bin pgBinaries, h *pgHome, opts PostgresOptions) error {
	if clusterVersion(h.data()) != 0 {
		return nil
	}
	draft, secret := filepath.Join(h.Home, "draft"), filepath.Join(h.Home, "secret")
	for _, path := range []string{draft, secret} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	defer func() { _ = os.Remove(secret) }()
	// Exclusive: in a folder of another user, root must not follow a link.
	f, err := os.OpenFile(secret, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(h.Password + "\n")
	if err == nil && h.user != nil {
		err = f.Chown(int(h.user.uid), int(h.user.gid))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	args := []string{"--pgdata=" + draft, "--username=" + superuser, "--pwfile=" + secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"}
	if opts.Fast {
		args = append(args, "--no-sync")
	}
	err = runChild(ctx, childSpec{path: bin.path("initdb"), args: args, env: pgEnv(), dir: h.Home,
		user: h.user, onDeath: syscall.SIGKILL, log: opts.Log})
	if err != nil {
		return err
	}
	return os.Rename(draft, h.data())
}

// pgEnv leaves out everything that would bend the server's settings: PGDATA,
// PGPORT and the locale.
func pgEnv() []string {
	env := []string{"LC_ALL=C"}
	for _, name := range []string{"PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// settings go on the command line, so that the cluster's own files stay as
// initdb wrote them. No Unix socket: its path would have to be short.
func settings(port int, fast bool) []string {
	s := []string{
		"listen_addresses=" + host,
		"port=" + strconv.Itoa(port),
		"unix_socket_directories=",
		"max_connections=300",
		"timezone=UTC",
		"log_timezone=UTC",
	}
	if fast {
		// Few checkpoints, and nothing waits for the disk.
		s = append(s, "fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_wal_size=4GB")
	}
	return s
}

const (
	stopGrace = 20 * time.Second
	// leftoverWait is how long backends of a killed postmaster may take to end.
	leftoverWait = 20 * time.Second
)

// start runs the server until it answers. It tries again on another port if
// someone was faster, and waits for backends a killed postmaster left.
func (p *Postgres) start(ctx context.Context, bin pgBinaries, wanted int, opts PostgresOptions) error {
	deadline := time.Now().Add(leftoverWait)
	for {
		port, err := choosePort(wanted)
		if err != nil {
			return err
		}
		p.Port = port
		args := []string{"-D", p.home.data()}
		for _, setting := range settings(port, opts.Fast) {
			args = append(args, "-c", setting)
		}
		p.child, err = startChild(childSpec{path: bin.path("postgres"), args: args, env: pgEnv(), dir: p.home.Home,
			user: p.home.user, onDeath: syscall.SIGINT, log: opts.Log})
		if err != nil {
			return err
		}
		err = p.ready(ctx)
		if err == nil {
			return nil
		}
		p.child.stop(stopGrace, syscall.SIGINT, syscall.SIGQUIT)
		said := p.child.tail.String()
		again := strings.Contains(said, "could not bind") || strings.Contains(said, "could not create any TCP/IP sockets") ||
			strings.Contains(said, "shared memory block") || strings.Contains(said, "postmaster.pid\" already exists")
		if !again || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		if !pause(ctx, 100*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// pause returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ready returns when the server takes a connection, or an error that quotes
// it when it ended or refused.
func (p *Postgres) ready(ctx context.Context) error {
	for {
		conn, err := pgx.Connect(ctx, p.DSN("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		var refusal *pgconn.PgError
		if errors.As(err, &refusal) && refusal.Code != "57P03" { // cannot_connect_now: starting up
			return fmt.Errorf("PostgreSQL refuses: %w", err)
		}
		timer := time.NewTimer(10 * time.Millisecond)
		select {
		case <-timer.C:
		case <-p.child.done:
			timer.Stop()
			return p.child.ended("PostgreSQL")
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("PostgreSQL is not ready: %w, its last lines:\n%s", context.Cause(ctx), p.child.tail)
		}
	}
}

// DSN returns a connection URL, password included, for one database of the
// server. Database `postgres` always exists; see EnsureDatabase for others.
func (p *Postgres) DSN(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, p.home.Password), Host: address(p.Port),
		Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// EnsureDatabase makes a database of this name unless there is one.
func (p *Postgres) EnsureDatabase(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, p.DSN("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) && refusal.Code == "42P04" { // duplicate_database
		return nil
	}
	return err
}

// PID is the process id of the postmaster.
func (p *Postgres) PID() int { return p.child.pid() }

// Done is closed when the server has ended, whoever ended it.
func (p *Postgres) Done() <-chan struct{} { return p.child.done }

// Stop shuts the server down: connections are closed, a checkpoint is written
// (fast shutdown). It returns when the server has ended; again, it does nothing.
func (p *Postgres) Stop() {
	p.stop.Do(func() {
		p.child.stop(stopGrace, syscall.SIGINT, syscall.SIGQUIT)
		p.lock.Unlock()
	})
}

// Remove stops the server and deletes its cluster, which may lie outside Dir.
func (p *Postgres) Remove() error {
	p.Stop()
	return errors.Join(os.RemoveAll(p.home.Home), os.Remove(p.home.file))
}
