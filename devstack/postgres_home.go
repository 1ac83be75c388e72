package devstack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// pgHome is where a cluster lives and how to enter it, kept in
// DIR/postgres.json, readable by the owner only.
type pgHome struct {
	// Home is a folder that belongs to the user PostgreSQL runs as; the
	// cluster is Home/data.
	Home string `json:"home"`
	// Password of the superuser `agentprocess`.
	Password string `json:"password"`
	// Port it had last, and gets again if it is free.
	Port int `json:"port"`

	file string
	user *account // nil: the user of this process
}

func (h *pgHome) data() string { return filepath.Join(h.Home, "data") }

func (h *pgHome) save() error {
	text, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return err
	}
	tmp := h.file + ".new"
	if err := os.WriteFile(tmp, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, h.file)
}

// openHome reads DIR/postgres.json, or settles where a new cluster goes.
func openHome(ctx context.Context, dir string, fast bool) (*pgHome, error) {
	h := &pgHome{file: filepath.Join(dir, "postgres.json")}
	text, err := os.ReadFile(h.file)
	switch {
	case err == nil:
		if err := json.Unmarshal(text, h); err != nil {
			return nil, fmt.Errorf("%s: %w", h.file, err)
		}
		return h, h.enter(ctx)
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	h.Password = rand.Text()
	h.Home = filepath.Join(dir, "postgres")
	if os.Geteuid() == 0 {
		if h.user, err = serviceAccount(); err != nil {
			return nil, err
		}
		if !reachable(ctx, h.user, dir) {
			if h.Home, err = homeElsewhere(fast); err != nil {
				return nil, err
			}
		}
	}
	if err := os.MkdirAll(h.Home, 0o700); err != nil {
		return nil, err
	}
	if h.user != nil {
		if err := os.Lchown(h.Home, int(h.user.uid), int(h.user.gid)); err != nil {
			return nil, err
		}
	}
	return h, h.save()
}

// enter finds out whom an existing home belongs to. Started by root,
// PostgreSQL runs as that user, also when it was a person who made it.
func (h *pgHome) enter(ctx context.Context) error {
	info, err := os.Lstat(h.Home)
	if err != nil {
		return fmt.Errorf("the database that %s names: %w", h.file, err)
	}
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid, ok := owner(info)
	if !ok || uid == 0 {
		return fmt.Errorf("%s belongs to root, and PostgreSQL does not run as root", h.Home)
	}
	h.user = &account{name: "user " + strconv.Itoa(int(uid)), uid: uid, gid: gid}
	if !reachable(ctx, h.user, h.Home) {
		return fmt.Errorf("%s (which PostgreSQL runs as) cannot enter %s any more: "+
			"restore the permissions of the folders above it", h.user.name, h.Home)
	}
	return nil
}

// serviceAccount is whom root starts PostgreSQL as: it refuses to be root.
func serviceAccount() (*account, error) {
	for _, name := range []string{"postgres", "_postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil && uid != 0 {
			return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user `postgres` or `nobody` to run it as: " +
		"add one, or start as an ordinary user")
}

// reachable asks the system itself, by starting a program there as that user;
// modes alone do not tell where there are access lists.
func reachable(ctx context.Context, as *account, dir string) bool {
	return runChild(ctx, childSpec{path: "/bin/sh", args: []string{"-c", ":"}, dir: dir, user: as, onDeath: syscall.SIGKILL}) == nil
}

// homeElsewhere makes a folder for a cluster whose DIR the service account
// cannot enter, such as one below root's home. Tests leave nothing durable.
func homeElsewhere(fast bool) (string, error) {
	const stateDir = "/var/lib/agentprocess"
	parent := stateDir
	if fast || os.MkdirAll(stateDir, 0o711) != nil {
		parent = "/var/tmp"
		if fast {
			parent = "/tmp"
		}
	}
	home, err := os.MkdirTemp(parent, "agentprocess-postgres-")
	if err != nil {
		return "", fmt.Errorf("find a place for PostgreSQL's data: %w", err)
	}
	return home, nil
}
