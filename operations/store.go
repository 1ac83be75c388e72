package operations

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/audit"
	"github.com/agentprocess-temporal/server/internal/faults/faultpoint"
	"github.com/agentprocess-temporal/server/ledger"
	"github.com/agentprocess-temporal/server/records"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

// Store applies what a run projects: its record, and the outcomes of those
// requests that the ledger does not have as done yet. A front end that died
// before it could has its work done here; the result is then of the record
// as it is now.
func (s *Service) Store(ctx context.Context, p workflows.Projection) error {
	process, err := s.version(ctx, p.Record.Org, p.Record.Process, p.Record.Version)
	if err != nil {
		return err
	}
	r := run.Open(process, p.Record)
	row, err := Row(r)
	if err != nil {
		return err
	}
	b := newBatch()
	advanced := false
	records.QueueApply(b, row).Exec(func(tag pgconn.CommandTag) error {
		advanced = tag.RowsAffected() > 0
		return nil
	})
	missing, err := s.missing(ctx, p)
	if err != nil {
		return err
	}
	for _, q := range missing {
		entry, err := doneEntry(r, q)
		if err != nil {
			return err
		}
		ledger.QueueDone(b, entry)
		audit.QueueRecovered(b, recovered(r.Org, q), r.ID, q.ID)
	}
	if err := s.Pool.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	if advanced && s.Projected != nil {
		s.Projected(ctx, time.Since(r.UpdatedAt))
	}
	faultpoint.Here(faultpoint.Projected)
	if r.Over() {
		faultpoint.Here(faultpoint.ProjectedLast)
	}
	return nil
}

// missing lists, in the order of their ids, the requests that are not done.
func (s *Service) missing(ctx context.Context, p workflows.Projection) ([]run.Request, error) {
	if len(p.Requests) == 0 {
		return nil, nil
	}
	entries := make([]*ledger.Entry, len(p.Requests))
	b := newBatch()
	for i, q := range p.Requests {
		ledger.QueueLook(b, p.Record.Org, q.ID, &entries[i])
	}
	if err := s.Pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	var missing []run.Request
	for i, q := range p.Requests {
		if entries[i] == nil || !entries[i].Done {
			missing = append(missing, q)
		}
	}
	slices.SortFunc(missing, func(a, b run.Request) int { return strings.Compare(a.ID, b.ID) })
	return missing, nil
}

// recovered is the audit log's entry of a write whose front end has gone.
func recovered(org string, q run.Request) audit.Entry {
	caller := identity.Caller{Org: org}
	if by := q.By; by != nil {
		caller.Subject, caller.Kind, caller.Client, caller.OnBehalfOf = by.ID, identity.Agent, by.Client, by.OnBehalfOf
		if by.Person {
			caller.Kind = identity.Person
		}
	}
	return audit.Of(caller, q.Tool)
}

func doneEntry(r *run.Run, q run.Request) (ledger.Entry, error) {
	digest, err := hex.DecodeString(q.Digest)
	if err != nil {
		return ledger.Entry{}, err
	}
	result, err := json.Marshal(keep(r, q.Tool, q.Outcome))
	if err != nil {
		return ledger.Entry{}, err
	}
	return ledger.Entry{
		Org: r.Org, RequestID: q.ID, Digest: digest, Tool: q.Tool, RunID: r.ID,
		Attempt: q.Attempt, NotAfter: q.At, Result: result,
	}, nil
}
