package run_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/schemas"
)

// shown holds what there is to see of a run against the schemas of the tools.
func shown(t require.TestingT, r *run.Run) {
	require.NoError(t, schemas.CheckResult("get_run", json.RawMessage(asJSON(t, r.View()))))
	work := []any{}
	for i := range r.Steps {
		if a, ok := r.AgentWork(r.Steps[i].ID); ok {
			work = append(work, a)
		}
	}
	page := map[string]any{"items": work, "nextCursor": nil}
	require.NoError(t, schemas.CheckResult("get_work", json.RawMessage(asJSON(t, page))))
	work = []any{}
	for i := range r.Steps {
		for _, a := range people {
			if item := r.Steps[i].Item; item != nil {
				if p, ok := r.PersonWork(item.ID, a); ok {
					work = append(work, p)
				}
			}
		}
	}
	page["items"] = work
	require.NoError(t, schemas.CheckResult("get_work", json.RawMessage(asJSON(t, page))))
}

var people = []run.Actor{mira, finn, faye, olga}

func TestWhatIsShownKeepsTheToolContracts(t *testing.T) {
	t.Run("a run of every kind of step, in every state (tools)", func(t *testing.T) {
		for _, mode := range []run.Mode{run.Live, run.Test} {
			w := begin(t, everything, inMode(mode))
			shown(t, w.r)
			g := w.renew(ada, w.claim(ada, "work"), "Half.")
			shown(t, w.r)
			w.refused(run.NotAccepted, ada, submitOf(g, run.Submission{Next: stringP("x")}))
			w.must(ada, escalateOf(g, "Help."))
			shown(t, w.r)
			w.decide(olga, "work", run.ReturnedDecision, "Go on.")
			shown(t, w.r)
			w.pass(2 * hour)
			shown(t, w.r)
			w.decide(finn, "ask", run.FailedDecision, "No.")
			shown(t, w.r)
		}
	})
	t.Run("a claim, all but its token (tools claim)", func(t *testing.T) {
		w := begin(t, screening)
		view := map[string]any{}
		require.NoError(t, json.Unmarshal([]byte(asJSON(t, w.r.ClaimView(w.claim(ada, "screen")))), &view))
		view["token"] = "eyJ"
		require.NoError(t, schemas.CheckResult("claim", json.RawMessage(asJSON(t, view))))
		require.Equal(t, "The body.\n", view["body"])
		require.JSONEq(t, `[{"to":"good","when":"Cleared"},{"to":"bad"}]`, asJSON(t, view["step"].(map[string]any)["next"]))
	})
	t.Run("an approval takes no output, evidence or next (tools, work item)", func(t *testing.T) {
		w := toApproval(t)
		text := asJSON(t, w.r.View().WorkItems[0])
		require.Contains(t, text, `"output":null,"evidence":null,"next":null`)
		require.Contains(t, text, `"escalation":null,"handoff":null`)
		require.Contains(t, text, `"decisions":["approved","rejected","failed"]`)
	})
	t.Run("a run that is over has ended set, a run that goes on has null (tools, run view)", func(t *testing.T) {
		w := begin(t, oneAgent)
		require.Contains(t, asJSON(t, w.r.View()), `"outcome":null,"ended":null`)
		w.work(ada, "screen", run.Submission{})
		require.Contains(t, asJSON(t, w.r.View()), `"ended":{"by":"server","at":"2026-10-06T09:00:00Z","note":null}`)
		shown(t, w.r)
	})
	t.Run("no view ever holds a claim (spec §6 rule 2)", func(t *testing.T) {
		w := begin(t, oneAgent)
		w.claim(ada, "screen")
		require.NotContains(t, asJSON(t, w.r.View()), "claim\"")
		require.NotContains(t, asJSON(t, w.r.View()), ada.ID)
	})
}

func TestEvidenceURLs(t *testing.T) {
	w := begin(t, screening)
	sub := screened()
	sub.Evidence = append(sub.Evidence, run.Evidence{Kind: process.Link, Ref: "L"}, run.Evidence{Kind: process.File, Ref: "f_0"})
	sub.Files["f_0"] = run.File{SHA256: hash, Intact: true}
	w.work(ada, "screen", sub)
	require.Equal(t, []string{"f_1", "f_0"}, w.r.Files())
	before := asJSON(t, w.r)
	with := w.r.Data.WithURLs(func(id string) string { return "https://x/" + id })
	text := asJSON(t, with)
	require.Contains(t, text, `{"kind":"file","ref":"f_1","sha256":"`+hash+`","url":"https://x/f_1"}`)
	require.Contains(t, text, `{"kind":"link","ref":"L"}`)
	require.Equal(t, before, asJSON(t, w.r), "the run itself has none")
}
