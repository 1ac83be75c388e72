package guard

import (
	"context"
	"errors"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/audit"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/run"
)

// The actions of the catalog and of operators, as the log names them.
const (
	Import    = "import_process"
	Bind      = "bind_roles"
	Publish   = "publish_process"
	List      = "list_catalog"
	DeleteRun = "delete_run"
	ReadAudit = "read_audit"
)

// ImportProcess is operations.Service's, logged.
func (g *Guard) ImportProcess(ctx context.Context, caller identity.Caller, source []byte) (d operations.Draft, refused *run.Error) {
	refused = g.write(ctx, caller, audit.Of(caller, Import), func() (process string, refused *run.Error) {
		d, refused = g.next.ImportProcess(ctx, caller, source)
		return d.Name, refused
	})
	return d, refused
}

// BindRoles is operations.Service's, logged.
func (g *Guard) BindRoles(ctx context.Context, caller identity.Caller, name string, roles map[string]string) (d operations.Draft, refused *run.Error) {
	e := audit.Of(caller, Bind)
	e.Process = name
	refused = g.write(ctx, caller, e, func() (string, *run.Error) {
		d, refused = g.next.BindRoles(ctx, caller, name, roles)
		return name, refused
	})
	return d, refused
}

// PublishProcess is operations.Service's, logged.
func (g *Guard) PublishProcess(ctx context.Context, caller identity.Caller, name string) (p operations.Published, refused *run.Error) {
	e := audit.Of(caller, Publish)
	e.Process = name
	refused = g.write(ctx, caller, e, func() (string, *run.Error) {
		p, refused = g.next.PublishProcess(ctx, caller, name)
		return name, refused
	})
	return p, refused
}

// DeleteRun is operations.Service's, logged.
func (g *Guard) DeleteRun(ctx context.Context, caller identity.Caller, runID string) *run.Error {
	e := audit.Of(caller, DeleteRun)
	e.RunID = runID
	return g.write(ctx, caller, e, func() (string, *run.Error) { return "", g.next.DeleteRun(ctx, caller, runID) })
}

// Catalog is operations.Service's; it writes nothing, and only a refusal is
// logged.
func (g *Guard) Catalog(ctx context.Context, caller identity.Caller) (operations.Listing, *run.Error) {
	if refused := g.take(caller); refused != nil {
		return operations.Listing{}, refused
	}
	l, refused := g.next.Catalog(ctx, caller)
	if refused != nil && refused.Code == run.Forbidden {
		e := audit.Of(caller, List)
		e.Result = string(run.Forbidden)
		g.add(ctx, e)
	}
	return l, refused
}

// write logs a write of more than one transaction: that it begins, before it
// does, and what became of it. Nothing is written that cannot be logged.
func (g *Guard) write(ctx context.Context, caller identity.Caller, e audit.Entry, do func() (process string, refused *run.Error)) *run.Error {
	if refused := g.take(caller); refused != nil {
		return refused
	}
	e.Result = audit.Begun
	if err := audit.Insert(ctx, g.db, e); err != nil {
		g.log.ErrorContext(ctx, "cannot write the audit log", "action", e.Action, "org", e.Org, "error", err)
		return run.Refuse(run.Retry, "the server could not finish the call; send it again")
	}
	process, refused := do()
	if process != "" {
		e.Process = process
	}
	e.Result = audit.OK
	if refused != nil {
		e.Result = string(refused.Code)
	}
	g.add(ctx, e)
	return refused
}

// Audit lists rows of the caller's organization, for operators.
func (g *Guard) Audit(ctx context.Context, caller identity.Caller, q audit.Query) ([]audit.Entry, *run.Error) {
	if refused := g.take(caller); refused != nil {
		return nil, refused
	}
	if !caller.IsPerson() || !caller.Operator {
		e := audit.Of(caller, ReadAudit)
		e.Result = string(run.Forbidden)
		g.add(ctx, e)
		return nil, run.Refuse(run.Forbidden, "only operators read the audit log")
	}
	q.Org = caller.Org
	entries, err := audit.List(ctx, g.db, q)
	if errors.Is(err, audit.ErrPlace) {
		return nil, run.Refuse(run.Invalid, "the query cannot be read", "after: not a place in the log")
	}
	if err != nil {
		g.log.ErrorContext(ctx, "cannot read the audit log", "org", caller.Org, "error", err)
		return nil, run.Refuse(run.Retry, "the audit log cannot be read now")
	}
	return entries, nil
}
