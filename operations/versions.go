package operations

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/agentprocess-temporal/server/catalog"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// versionCache keeps parsed versions: a published version never changes, so one
// that was read once need not be read again.
type versionCache struct {
	mu   sync.Mutex
	kept map[versionKey]*process.Process
}

type versionKey struct {
	org, name string
	number    int
}

// keptVersions bounds the cache. Beyond it, any entry makes room: reading one
// again costs a query.
const keptVersions = 1000

func (c *versionCache) get(k versionKey) *process.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[k]
}

func (c *versionCache) put(k versionKey, p *process.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = make(map[versionKey]*process.Process)
	}
	if len(c.kept) >= keptVersions {
		for old := range c.kept {
			delete(c.kept, old)
			break
		}
	}
	c.kept[k] = p
}

// version returns the process of a version that is known to exist.
func (s *Service) version(ctx context.Context, org, name string, number int) (*process.Process, error) {
	k := versionKey{org, name, number}
	if p := s.versions.get(k); p != nil {
		return p, nil
	}
	v, err := catalog.Get(ctx, s.Pool, org, name, number)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, fmt.Errorf("version %d of %q is pinned by a run and not in the catalog", number, name)
	}
	p := new(process.Process)
	if err := json.Unmarshal(v.Document, p); err != nil {
		return nil, fmt.Errorf("stored process %q version %d: %w", name, number, err)
	}
	s.versions.put(k, p)
	return p, nil
}

// open makes a run of a stored record.
func (s *Service) open(ctx context.Context, org string, record []byte) (*run.Run, error) {
	var r run.Record
	if err := json.Unmarshal(record, &r); err != nil {
		return nil, fmt.Errorf("stored record: %w", err)
	}
	p, err := s.version(ctx, org, r.Process, r.Version)
	if err != nil {
		return nil, err
	}
	return run.Open(p, r), nil
}

// Process returns the process of a published version.
func (s *Service) Process(ctx context.Context, org, name string, number int) (*process.Process, error) {
	return s.version(ctx, org, name, number)
}

// Record returns the stored record of a run, nil where there is none.
func (s *Service) Record(ctx context.Context, org, runID string) (*run.Record, error) {
	_, row, _, err := s.look(ctx, request{caller: identity.Caller{Org: org}, runID: runID})
	if err != nil || row == nil {
		return nil, err
	}
	record := new(run.Record)
	return record, json.Unmarshal(row.Record, record)
}
