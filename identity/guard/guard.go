package guard

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/audit"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/run"
)

// Operations are the use cases of both transports; *operations.Service has them.
type Operations interface {
	Call(ctx context.Context, caller identity.Caller, tool string, args json.RawMessage) (json.RawMessage, *run.Error)
	ImportProcess(ctx context.Context, caller identity.Caller, source []byte) (operations.Draft, *run.Error)
	BindRoles(ctx context.Context, caller identity.Caller, name string, roles map[string]string) (operations.Draft, *run.Error)
	PublishProcess(ctx context.Context, caller identity.Caller, name string) (operations.Published, *run.Error)
	Catalog(ctx context.Context, caller identity.Caller) (operations.Listing, *run.Error)
	DeleteRun(ctx context.Context, caller identity.Caller, runID string) *run.Error
}

// Guard is a guarded Operations.
type Guard struct {
	next    Operations
	db      postgres.DB
	buckets *Buckets
	runOf   func(org, token string) (runID string)
	// replayed may be nil.
	replayed func(ctx context.Context, tool string)
	log      *slog.Logger
}

// Options are what a guard needs.
type Options struct {
	DB postgres.DB
	// Buckets bound the calls of each caller; nil bounds nothing.
	Buckets *Buckets
	// RunOf tells which run a claim token is of, empty for one that does not
	// verify.
	RunOf func(org, token string) (runID string)
	// Replayed, if set, is told of every write that was answered again.
	Replayed func(ctx context.Context, tool string)
	Log      *slog.Logger
}

// New guards the use cases.
func New(next Operations, o Options) *Guard {
	return &Guard{next: next, db: o.DB, buckets: o.Buckets, runOf: o.RunOf, replayed: o.Replayed, log: o.Log}
}

// reads are the tools that write nothing.
var reads = map[string]bool{
	"describe": true, "list_processes": true, "get_run": true, "get_work": true, "list_runs": true,
}

// Call carries out one tool; see operations.Service.Call. Beyond the caller's
// rate it is refused with `retry`.
func (g *Guard) Call(ctx context.Context, caller identity.Caller, tool string, args json.RawMessage) (json.RawMessage, *run.Error) {
	if refused := g.take(caller); refused != nil {
		return nil, refused
	}
	// Only what is logged is looked at, and that only when it is logged.
	entry := audit.Of(caller, tool)
	if !reads[tool] {
		g.name(&entry, caller, args)
	}
	call, wrote := audit.With(ctx, entry)
	data, refused := g.next.Call(call, caller, tool, args)
	switch {
	case refused != nil && refused.Code == run.Forbidden:
		entry.Result = string(run.Forbidden)
		if reads[tool] {
			g.name(&entry, caller, args)
		}
		g.add(ctx, entry)
	case refused == nil && !reads[tool] && !wrote():
		entry.Result = audit.Replayed
		g.add(ctx, entry)
		if g.replayed != nil {
			g.replayed(ctx, tool)
		}
	}
	return data, refused
}

// name fills in what a call is about.
func (g *Guard) name(e *audit.Entry, caller identity.Caller, args json.RawMessage) {
	var of struct{ RunID, Token, RequestID, Process string }
	if json.Unmarshal(args, &of) != nil {
		return
	}
	e.RunID, e.RequestID, e.Process = of.RunID, of.RequestID, of.Process
	if of.Token != "" && g.runOf != nil {
		e.RunID = g.runOf(caller.Org, of.Token)
	}
}

func (g *Guard) take(caller identity.Caller) *run.Error {
	if g.buckets.Take(caller) {
		return nil
	}
	return run.Refuse(run.Retry, "too many calls: wait a moment, then send the same call again")
}

// insertWithin bounds how long a call waits for the log.
const insertWithin = 5 * time.Second

// add logs what has happened already: if it cannot, the log of the server says
// so, and the call is answered as it is.
func (g *Guard) add(ctx context.Context, e audit.Entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), insertWithin)
	defer cancel()
	if err := audit.Insert(ctx, g.db, e); err != nil {
		g.log.ErrorContext(ctx, "cannot write the audit log", "action", e.Action, "org", e.Org, "result", e.Result, "error", err)
	}
}

var _ Operations = (*operations.Service)(nil)
