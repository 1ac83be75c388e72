package identity

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Registry is the directories of a server, one an organization, each as its file
// last was when it could be read. It is safe for concurrent use. A nil Registry
// has none.
type Registry struct {
	byOrg atomic.Pointer[map[string]*Directory]

	mu    sync.Mutex
	files []string
	seen  map[string]stamp
}

// stamp tells one content of a file from another, without reading it.
type stamp struct {
	mod  time.Time
	size int64
}

// NewRegistry makes a registry of directories that never change. Of two of one
// organization the later one stands.
func NewRegistry(directories ...*Directory) *Registry {
	r := &Registry{}
	byOrg := map[string]*Directory{}
	for _, d := range directories {
		if d != nil {
			byOrg[d.Org()] = d
		}
	}
	r.byOrg.Store(&byOrg)
	return r
}

// LoadRegistry reads directory files, of different organizations.
func LoadRegistry(files ...string) (*Registry, error) {
	r := &Registry{files: slices.Clone(files)}
	return r, r.Reload()
}

// Directory returns the directory of an organization, nil where there is none.
func (r *Registry) Directory(org string) *Directory {
	if r == nil {
		return nil
	}
	return (*r.byOrg.Load())[org]
}

// Organizations lists the organizations that have a directory, sorted.
func (r *Registry) Organizations() []string {
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(*r.byOrg.Load()))
}

// Reload reads all files again. With an error everything stays as it was: half
// a change of who may do what is worse than none.
func (r *Registry) Reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reload()
}

func (r *Registry) reload() error {
	seen := map[string]stamp{}
	byOrg := map[string]*Directory{}
	for _, file := range r.files {
		// Before it is read: a change in between is then seen the next time.
		if at, err := stampOf(file); err == nil {
			seen[file] = at
		}
		d, err := Load(file)
		if err != nil {
			r.seen = seen
			return err
		}
		if byOrg[d.Org()] != nil {
			r.seen = seen
			return fmt.Errorf("%s: another file is the directory of %q already", file, d.Org())
		}
		byOrg[d.Org()] = d
	}
	r.seen = seen
	r.byOrg.Store(&byOrg)
	return nil
}

// Watch reads the files again when one changed, looking every so often, and
// whenever now is sent to, until ctx ends.
func (r *Registry) Watch(ctx context.Context, every time.Duration, now <-chan os.Signal, log *slog.Logger) {
	if r == nil || len(r.files) == 0 {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-now:
			asked = true
		case <-tick.C:
		}
		r.refresh(ctx, asked, log)
	}
}

func (r *Registry) refresh(ctx context.Context, asked bool, log *slog.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !asked && !r.changed() {
		return
	}
	if err := r.reload(); err != nil {
		log.ErrorContext(ctx, "the directory cannot be read and stays as it was", "error", err)
		return
	}
	log.InfoContext(ctx, "read the directory again", "organizations", r.Organizations())
}

func (r *Registry) changed() bool {
	for _, file := range r.files {
		at, err := stampOf(file)
		if had, ok := r.seen[file]; (err == nil) != ok || err == nil && (had.size != at.size || !had.mod.Equal(at.mod)) {
			return true
		}
	}
	return false
}

func stampOf(file string) (stamp, error) {
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.ModTime(), info.Size()}, nil
}
