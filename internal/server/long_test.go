package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

// longVariable asks for the tests that take minutes (`make long`).
const longVariable = "AGENTPROCESS_LONG"

// chain lists the workflow runs of a run, the first one first, and counts the
// events of all.
func (s *stores) chain(id string) (runs []string, events int) {
	described, err := s.c.DescribeWorkflow(s.t.Context(), workflows.WorkflowID("acme", id), "")
	require.NoError(s.t, err)
	for next := described.RawResponse.WorkflowExecutionInfo.FirstRunId; next != ""; {
		runs = append(runs, next)
		history := s.c.GetWorkflowHistory(s.t.Context(), workflows.WorkflowID("acme", id), next, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		next = ""
		for history.HasNext() {
			e, err := history.Next()
			require.NoError(s.t, err)
			events++
			next = e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		}
	}
	return runs, events
}

// A run that is worked on for months: claimed, renewed, given to people, returned,
// submitted, rejected, with events that it holds and writes that come twice, through
// one history after the other.
func TestARunOfThreeThousandWritesLosesNothing(t *testing.T) {
	if os.Getenv(longVariable) == "" {
		t.Skip("takes minutes; " + longVariable + "=1 or `make long` runs it")
	}
	s := startStores(t)
	id := s.begin()
	writes, rejected, held := 0, 0, 0
	// write makes a write, and every seventh one twice.
	write := func(who, tool string, args Args) (data json.RawMessage) {
		args["requestId"] = ID()
		data = Must[json.RawMessage](s.Server, who, tool, args)
		if writes++; writes%7 == 0 {
			require.Equal(t, string(data), string(Must[json.RawMessage](s.Server, who, tool, args)), "%s came twice", tool)
		}
		return data
	}
	token := func(data json.RawMessage) string {
		var got struct{ Token string }
		require.NoError(t, json.Unmarshal(data, &got))
		return got.Token
	}
	decide := func(who, decision string) {
		item := Must[run.View](s.Server, Mira, "get_run", Args{"runId": id}).WorkItems[0]
		write(who, "decide", Args{"runId": id, "workItemId": item.ID, "snapshot": item.Snapshot, "decision": decision, "note": "Again."})
	}
	for round := 0; writes < 3000; round++ {
		held1 := token(write(A1, "claim", Args{"runId": id, "stepId": "work"}))
		for i := range 3 {
			held1 = token(write(A1, "renew", Args{"token": held1, "progress": fmt.Sprintf("%d of 3", i+1)}))
		}
		if round%8 != 0 {
			write(A1, "escalate", Args{"token": held1, "note": "I am stuck."})
			decide(Boss, "returned")
			continue
		}
		if round%64 == 0 {
			write(A1, "send_event", Args{"runId": id, "name": fmt.Sprintf("news-%d", round), "data": Args{"n": round}})
			held++
		}
		write(A1, "submit", Args{"token": held1, "output": Args{}, "summary": fmt.Sprintf("Round %d.", round)})
		decide(Mira, "rejected")
		rejected++
	}
	last := token(write(A1, "claim", Args{"runId": id, "stepId": "work"}))
	view := Must[run.View](s.Server, Mira, "get_run", Args{"runId": id})
	require.Len(t, view.Data.Steps["work"].History, rejected, "every completion once")
	require.Len(t, view.Data.Steps["agree"].History, rejected-1)
	var record []byte
	require.NoError(t, s.db.QueryRow(t.Context(), `SELECT record FROM runs WHERE run_id = $1`, id).Scan(&record))
	var stored run.Record
	require.NoError(t, json.Unmarshal(record, &stored))
	require.Len(t, stored.Held, held)

	chain, events := s.chain(id)
	require.GreaterOrEqual(t, len(chain), 4, "it has continued as new several times")
	write(A1, "submit", Args{"token": last, "output": Args{}, "summary": "Done."})
	decide(Mira, "approved")
	view = Must[run.View](s.Server, Mira, "get_run", Args{"runId": id})
	require.Equal(t, "done", *view.Run.Outcome)
	t.Logf("%d writes, %d histories with %d events, %d rejections, %d held events, record of %d bytes", writes, len(chain), events, rejected, held, len(record))
}
