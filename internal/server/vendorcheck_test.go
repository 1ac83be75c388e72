package server_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/evaluator/openai/openaitest"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

// vendor is the protocol's own process for checks.
func (s *checking) vendor() string {
	source, err := os.ReadFile(filepath.Join(Upstream(), "conformance", "fixtures", "vendor-check", "PROCESS.md"))
	require.NoError(s.t, err)
	s.Publish(string(source), map[string]string{"finance-approver": "finance"})
	return "vendor-check"
}

func (s *checking) screened(token, next string) Args {
	file := Must[struct{ ID string }](s.Server, A1, "upload", Args{
		"fileName": "r.txt", "contentType": "text/plain", "contentBase64": base64.StdEncoding.EncodeToString([]byte("clear")), "requestId": ID(),
	})
	return Args{
		"token": token, "output": Args{"cleared": next == "approve", "summary": "No hits."}, "summary": "Searched both lists.",
		"evidence": []Args{{"kind": "file", "ref": file.ID}}, "next": next, "reason": "The report says so.", "requestId": ID(),
	}
}

func TestAVendorCheckRunsToEveryOutcome(t *testing.T) {
	if Upstream() == "" {
		t.Skip("the protocol's data files are not there")
	}
	s := startChecking(t)
	name := s.vendor()
	inputs := Args{"vendorName": "Acme", "amount": json.Number("48000.00")}
	pass := answersOf(0.97, "states", 0.91, 2, 0.85)
	submit := func(id string, answer func(openaitest.Call) openaitest.Reply, next string) (run.View, string) {
		s.evaluator.Answer(answer)
		token := s.claim(id, "check_vendor").Token
		return Must[run.View](s.Server, A1, "submit", s.screened(token, next)), token
	}
	check := func(v run.View) *run.Verdict { return v.Data.Steps["check_vendor"].Check }

	t.Run("pass, approved: onboarded", func(t *testing.T) {
		id := s.begin(name, inputs)
		v, _ := submit(id, pass, "approve")
		require.Equal(t, run.Passes, check(v).Verdict)
		require.Equal(t, openaitest.Model, check(v).Model)
		require.Len(t, check(v).Questions, 3)
		require.Equal(t, "onboarded", *s.decide(Mira, id, Args{"decision": "approved"}).Run.Outcome)
	})
	t.Run("pass, no clearance: declined", func(t *testing.T) {
		v, _ := submit(s.begin(name, inputs), pass, "decline")
		require.Equal(t, "declined", *v.Run.Outcome)
	})
	t.Run("fail goes back with the issues, and passes then", func(t *testing.T) {
		id := s.begin(name, inputs)
		s.evaluator.Answer(answersOf(0.12, "hedges", 0.9, 1, 0.9))
		token := s.claim(id, "check_vendor").Token
		before := s.get(id)
		args := s.screened(token, "approve")
		refused := s.Refused(run.NotAccepted, A1, "submit", args)
		want := []string{
			"check: The cleared verdict matches what the attached report says. → no (0.12)",
			"check: What does the summary do? → hedges (0.9)",
			"check: How complete is the screening? → level 1: One list is covered. (0.9)",
		}
		require.Equal(t, want, refused.Issues)
		require.Equal(t, before.Data, s.get(id).Data)
		s.evaluator.Answer(pass)
		v := Must[run.View](s.Server, A1, "submit", args) // the refused requestId is as if never used
		require.Equal(t, run.Passes, check(v).Verdict)
	})
	t.Run("unsure, completed with the candidate", func(t *testing.T) {
		id := s.begin(name, inputs)
		v, _ := submit(id, answersOf(0.62, "states", 0.91, 2, 0.9), "approve")
		require.Equal(t, run.Unsure, check(v).Verdict)
		require.Empty(t, v.Data.Steps["check_vendor"].By)
		require.Len(t, v.WorkItems, 1)
		e := v.WorkItems[0].Escalation
		require.Equal(t, run.Unsure, e.Check.Verdict)
		require.Equal(t, "a1", e.Candidate.By)
		require.NotEmpty(t, e.Candidate.Evidence[0].URL, "a held file can be opened")
		mine := Must[struct{ Items []run.PersonWork }](s.Server, Boss, "get_work", Args{}).Items
		require.NotEmpty(t, mine[0].WorkItem.Escalation.Candidate.Evidence[0].URL)
		v = s.decide(Boss, id, Args{"decision": "completed"})
		require.Equal(t, "Searched both lists.", v.Data.Steps["check_vendor"].Summary)
		require.Equal(t, run.Unsure, check(v).Verdict)
		require.Equal(t, "approve", v.WorkItems[0].StepID)
		t.Run("rejected: rework has the verdict in its history and a handoff of none", func(t *testing.T) {
			v := s.decide(Mira, id, Args{"decision": "rejected", "note": "Check the owners."})
			require.Equal(t, run.Unsure, v.Data.Steps["check_vendor"].History[0].Check.Verdict)
			require.Nil(t, s.claim(id, "check_vendor").Handoff)
		})
	})
	t.Run("unsure, returned: the next claim has the note, the check and its lines", func(t *testing.T) {
		id := s.begin(name, inputs)
		submit(id, answersOf(0.97, "unclear", 1, 2, 0.5), "approve")
		s.decide(Boss, id, Args{"decision": "returned", "note": "Say which lists."})
		h := s.claim(id, "check_vendor").Handoff
		require.Equal(t, "Say which lists.", h.Returned.Note)
		require.Equal(t, run.Unsure, h.Check.Verdict)
		require.Equal(t, []string{
			"check: What does the summary do? → unclear (1)",
			"check: How complete is the screening? → level 2: Both lists are covered with the search terms stated. (0.5)",
		}, h.Issues)
	})
	t.Run("unsure, failed: failed", func(t *testing.T) {
		id := s.begin(name, inputs)
		submit(id, answersOf(0.6, "states", 1, 2, 1), "approve")
		require.Equal(t, "failed", *s.decide(Boss, id, Args{"decision": "failed", "note": "A shell company."}).Run.Outcome)
	})
}
