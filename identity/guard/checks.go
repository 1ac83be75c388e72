package guard

import (
	"context"
	"time"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/audit"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/run"
)

// ReportChecks is the action of reading a check report, as the log names it.
const ReportChecks = "report_checks"

// reporter is what measures checks; *operations.Service does.
type reporter interface {
	CheckReport(ctx context.Context, caller identity.Caller, process string, span time.Duration) (operations.CheckReport, *run.Error)
}

// CheckReport is operations.Service's; it writes nothing, and only a refusal is
// logged.
func (g *Guard) CheckReport(ctx context.Context, caller identity.Caller, process string, span time.Duration) (operations.CheckReport, *run.Error) {
	if refused := g.take(caller); refused != nil {
		return operations.CheckReport{}, refused
	}
	next, ok := g.next.(reporter)
	if !ok {
		return operations.CheckReport{}, run.Refuse(run.NotFound, "the API has nothing at this address")
	}
	report, refused := next.CheckReport(ctx, caller, process, span)
	if refused != nil && refused.Code == run.Forbidden {
		e := audit.Of(caller, ReportChecks)
		e.Process, e.Result = process, string(run.Forbidden)
		g.add(ctx, e)
	}
	return report, refused
}

var _ reporter = (*operations.Service)(nil)
