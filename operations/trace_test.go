package operations_test

import (
	"testing"
	"time"

	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
)

// TestTheToolsKeepTheirContracts goes through tools.md call by call: the exact
// codes, issues and orders of checks. The groups share one server and no run.
func TestTheToolsKeepTheirContracts(t *testing.T) {
	w := newWorld(t, Start(t))
	w.s.Publish(screening, map[string]string{"finance-approver": "finance"})
	w.s.Publish(oneStep, nil)
	for _, group := range []struct {
		name  string
		trace func(world)
	}{
		{"start_run", traceStart},
		{"claim", traceClaim},
		{"renew and tokens", traceTokens},
		{"submit", traceSubmit},
		{"escalate", traceEscalate},
		{"decide", traceDecide},
		{"cancel and ended runs", traceEnded},
		{"deletion", traceDeletion},
		{"send_event", traceEvents},
		{"replay", traceReplay},
		{"evidence", traceEvidence},
		{"values", traceValues},
		{"people", tracePeople},
		{"parallel", traceParallel},
		{"races", traceRaces},
		{"lists", traceLists},
		{"publication", tracePublication},
		{"organizations", traceOrganizations},
	} {
		w.run(group.name, group.trace)
	}
}

// TestLeasesThatEnd needs leases short enough to be waited for.
func TestLeasesThatEnd(t *testing.T) {
	w := newWorld(t, Start(t, func(o *server.Options) { o.Lease = 3 * time.Second }))
	w.s.Publish(screening, map[string]string{"finance-approver": "finance"})
	w.s.Publish(oneStep, nil)
	traceLeases(w)
}

// TestTheRunDataCap needs a cap that is quick to reach.
func TestTheRunDataCap(t *testing.T) {
	w := newWorld(t, Start(t, func(o *server.Options) { o.RunDataBytes, o.MaxUploadBytes = 16<<10, 4<<10 }))
	w.s.Publish(oneStep, nil)
	w.s.Publish(awaiting, nil)
	traceCap(w)
}

// The processes that most traces use.
var (
	screening = document("screening", "{ vendor: string }", `  - id: screen
    agent: Screen the vendor.
    output: { cleared: boolean, summary: string }
    evidence: [file]
    next:
      - { to: approve, when: It is clear }
      - { to: decline, when: There is a hit }
  - id: approve
    person: finance-approver
    approve: Approve what is clear.
    due: 2d
    on_reject: screen
    next: done
  - { id: decline, finish: declined }
  - { id: done, finish: onboarded }`)
	oneStep = document("one-step", "{ note: { type: string, optional: true } }", `  - id: work
    agent: Work.
    output: { n: { type: number, optional: true }, text: { type: string, optional: true } }
  - { id: done, finish: done }`)
	awaiting = document("awaiting", "", `  - { id: first, wait_for: paid }
  - { id: second, wait_for: paid }
  - { id: third, wait_for: shipped }
  - { id: done, finish: settled }`)
)

// screened is a submission that screening accepts.
func (w world) screened(id, token string, more ...Args) Args {
	w.t.Helper()
	a := submitArgs(token, Args{"cleared": true, "summary": "No hits."}, Args{
		"evidence": []Args{{"kind": "file", "ref": w.upload(id, "report")}}, "next": "approve", "reason": "It is clear.",
	})
	for _, m := range more {
		for k, v := range m {
			a[k] = v
		}
	}
	return a
}

// toApproval is a run of screening whose approval is open.
func (w world) toApproval() string {
	w.t.Helper()
	id := w.start("screening", Args{"vendor": "Acme"})
	w.ok(A1, "submit", w.screened(A1, w.claim(A1, id, "screen").Token))
	return id
}

// over is a run of one step that has ended.
func (w world) over() string {
	w.t.Helper()
	id := w.start("one-step", nil)
	w.ok(A1, "submit", submitArgs(w.claim(A1, id, "work").Token, Args{}))
	return id
}
