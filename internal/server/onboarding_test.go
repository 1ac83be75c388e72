package server_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

const onboarding = `---
name: supplier-onboarding
description: Screen a supplier and have finance agree.
inputs:
  vendorName: string
  amount: number
steps:
  - id: screen
    agent: Screen the supplier.
    output: { cleared: boolean, report: string }
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
  - id: decline
    finish: declined
  - id: done
    finish: onboarded
---
Body.
`

type claimed struct {
	Token   string
	Handoff *run.Handoff
	Data    run.Data
}

func TestASupplierGoesFromFileToOnboarded(t *testing.T) {
	s := Start(t)
	s.Publish(onboarding, map[string]string{"finance-approver": "finance"})

	view := Must[run.View](s, Mira, "start_run", Args{
		"process": "supplier-onboarding", "inputs": Args{"vendorName": "Acme", "amount": 48000}, "requestId": ID(),
	})
	id := view.Run.ID
	for round := range 2 {
		work := Must[struct{ Items []run.AgentWork }](s, A1, "get_work", Args{})
		require.Len(t, work.Items, 1)
		require.Equal(t, id, work.Items[0].RunID)
		c := Must[claimed](s, A1, "claim", Args{"runId": id, "stepId": "screen", "requestId": ID()})
		if round == 1 {
			require.Equal(t, "look closer", c.Data.Steps["approve"].Note)
		}
		file := Must[struct{ ID string }](s, A1, "upload", Args{
			"fileName": "report.txt", "contentType": "text/plain",
			"contentBase64": base64.StdEncoding.EncodeToString([]byte("clean")), "requestId": ID(),
		})
		Must[run.View](s, A1, "submit", Args{
			"token": c.Token, "output": Args{"cleared": true, "report": "ok"}, "summary": "Screened.",
			"evidence": []Args{{"kind": "file", "ref": file.ID}}, "next": "approve", "reason": "clear", "requestId": ID(),
		})
		items := Must[struct{ Items []run.PersonWork }](s, Omar, "get_work", Args{})
		require.Len(t, items.Items, 1)
		decide := Args{
			"runId": id, "workItemId": items.Items[0].WorkItem.ID, "snapshot": items.Items[0].WorkItem.Snapshot, "requestId": ID(),
		}
		if round == 0 {
			decide["decision"], decide["note"] = "rejected", "look closer"
		} else {
			decide["decision"] = "approved"
		}
		view = Must[run.View](s, Omar, "decide", decide)
	}
	require.Equal(t, run.Ended, view.Run.State)
	require.Equal(t, "onboarded", *view.Run.Outcome)
}
