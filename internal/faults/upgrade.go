package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agentprocess-temporal/server/devstack"
)

// errNoHistory is returned where the commit to upgrade from cannot be had.
var errNoHistory = errors.New("there is no such commit to upgrade from (a shallow clone, or an unpacked archive?)")

// upgrade is two versions of the server, and the way from one to the other.
type upgrade struct {
	*world
	from, to string // binaries
	// known is the last migration that the old version knows.
	known int64
	say   func(string, ...any)
}

// previous builds the server of an earlier commit of a checkout.
func previous(ctx context.Context, source, ref, into string) (binary string, known int64, err error) {
	top, err := git(ctx, source, "rev-parse", "--show-toplevel")
	if err != nil || !sameFolder(top, source) { // another repository may be around an archive
		return "", 0, errNoHistory
	}
	commit, err := git(ctx, source, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	if err != nil {
		return "", 0, fmt.Errorf("%s: %w", ref, errNoHistory)
	}
	if err := os.MkdirAll(into, 0o711); err != nil {
		return "", 0, err
	}
	tree := filepath.Join(into, "tree.tar")
	if _, err := git(ctx, source, "archive", "--output", tree, commit); err != nil {
		return "", 0, fmt.Errorf("%s: %w: %w", ref, errNoHistory, err) // a partial clone may lack its files
	}
	if said, err := exec.CommandContext(ctx, "tar", "-xf", tree, "-C", into).CombinedOutput(); err != nil {
		return "", 0, fmt.Errorf("unpack %s: %w: %s", ref, err, said)
	}
	names, err := filepath.Glob(filepath.Join(into, "internal/postgres/migrations/*.sql"))
	if err != nil || len(names) == 0 {
		return "", 0, fmt.Errorf("%s has no migrations (%w)", ref, err)
	}
	number, _, _ := strings.Cut(filepath.Base(names[len(names)-1]), "_")
	if known, err = strconv.ParseInt(number, 10, 64); err != nil {
		return "", 0, err
	}
	binary, err = build(ctx, into, into)
	return binary, known, err
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	said, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
	return strings.TrimSpace(string(said)), err
}

func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// roll replaces the servers while everybody works: the schema first, then one
// server, then the other; one goes back, as far as the schema lets it, and forth.
func (u *upgrade) roll(ctx context.Context, duration time.Duration) error {
	began := time.Now()
	for _, step := range []struct {
		percent int
		do      func(context.Context) error
	}{
		{15, u.migrate},
		{25, func(ctx context.Context) error { return u.replace(ctx, 0, u.to) }},
		{45, func(ctx context.Context) error { return u.replace(ctx, 1, u.to) }},
		{60, u.downgrade},
		{75, func(ctx context.Context) error { return u.replace(ctx, 0, u.to) }},
	} {
		if !wait(ctx, time.Until(began.Add(duration*time.Duration(step.percent)/100))) {
			return ctx.Err()
		}
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// migrate migrates with the new version while the old one serves, after which the
// old one must leave the schema alone.
func (u *upgrade) migrate(ctx context.Context) error {
	killed, newest, err := u.stack.migrateThroughPoints(ctx, u.to, u.stack.dsn(""))
	if err != nil {
		return err
	}
	u.say("migrated from %d to %d, after %d migrations were killed in the middle", u.known, newest, killed)
	u.problems.checked("migrations killed in the middle, while the old version served", killed)
	if newest == u.known {
		return nil
	}
	if u.stack.migration(ctx, u.from, u.stack.dsn("")).Run() == nil {
		u.problems.add("the old version migrated a schema that is newer than it knows")
	}
	u.problems.checked("migrations backwards that were refused", 1)
	return nil
}

func (u *upgrade) downgrade(ctx context.Context) error {
	var floor int64
	if err := u.stack.pool.QueryRow(ctx, `SELECT version FROM schema_floor`).Scan(&floor); err != nil {
		return err
	}
	if floor > u.known {
		u.say("not going back: the schema no longer serves what knows %d", u.known)
		return nil
	}
	return u.replace(ctx, 0, u.from)
}

func (u *upgrade) replace(ctx context.Context, i int, binary string) error {
	part := u.stack.servers[i]
	version := "new"
	if binary == u.from {
		version = "old"
	}
	if err := part.replace(ctx, binary); err != nil {
		return fmt.Errorf("%s with the %s version: %w", part.name, version, err)
	}
	u.say("%s is of the %s version", part.name, version)
	u.problems.checked("times that a server was replaced by one of another version", 1)
	return nil
}

// replace ends the process in order and starts another binary in its place.
func (p *serverPart) replace(ctx context.Context, binary string) error {
	p.busy.Lock()
	defer p.busy.Unlock()
	p.mu.Lock()
	p.args = append([]string{binary}, p.args[1:]...)
	old := p.process
	p.mu.Unlock()
	old.Stop() // supervise starts the other one
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	return devstack.WaitReady(ctx, "http://"+p.addr+"/readyz", nil)
}
