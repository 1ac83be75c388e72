package operations_test

import (
	"strings"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

func traceSubmit(w world) {
	w.run("every issue comes at once, nothing changes and the claim stands", func(w world) {
		id := w.start("screening", Args{"vendor": "Acme"})
		token := w.claim(A1, id, "screen").Token
		before := w.get(id)
		a := submitArgs(token, Args{"cleared": "yes", "extra": 1}, Args{
			"summary": " \n ", "evidence": []Args{{"kind": "file", "ref": "f_000"}, {"kind": "link", "ref": "x"}},
		})
		issues := []string{
			"summary: missing", "output.cleared: expected boolean", "output.summary: missing", "output.extra: not declared",
			"evidence f_000: not found", "next: required, one of approve, decline", "reason: required",
		}
		w.refused(run.NotAccepted, A1, "submit", a, issues...)
		after := w.get(id)
		require.Equal(w.t, before.Data, after.Data)
		require.Equal(w.t, before.Run.UpdatedAt, after.Run.UpdatedAt)
		require.Equal(w.t, run.StepClaimed, state(after, "screen"))
		w.refused(run.NotAccepted, A1, "submit", a, issues...)
		a["output"], a["summary"], a["next"], a["reason"] = Args{"cleared": true, "summary": "x"}, "ok", "approve", "ok"
		a["evidence"] = []Args{{"kind": "file", "ref": w.upload(A1, "report")}}
		w.ok(A1, "submit", a) // the requestId of a call that failed is free
	})
	w.run("a file that is required is not met by links", func(w world) {
		token := w.claim(A1, w.start("screening", Args{"vendor": "Acme"}), "screen").Token
		w.refused(run.NotAccepted, A1, "submit", w.screened(A1, token, Args{"evidence": []Args{}}), "evidence: file required")
		w.refused(run.NotAccepted, A1, "submit", w.screened(A1, token, Args{"evidence": []Args{{"kind": "link", "ref": "https://example.com"}}}), "evidence: file required")
	})
	w.run("next must be one of the routes, and the reason must say something", func(w world) {
		token := w.claim(A1, w.start("screening", Args{"vendor": "Acme"}), "screen").Token
		w.refusedAs(run.NotAccepted, A1, "submit", w.screened(A1, token, Args{"next": "done"}), "next:")
		w.refusedAs(run.NotAccepted, A1, "submit", w.screened(A1, token, Args{"next": ""}), "next:")
		w.refused(run.NotAccepted, A1, "submit", w.screened(A1, token, Args{"reason": "\t"}), "reason: required")
		v := w.view(A1, "submit", w.screened(A1, token, Args{"next": "decline", "reason": "A hit."}))
		require.Equal(w.t, "declined", *v.Run.Outcome)
		require.Equal(w.t, "decline", v.Data.Steps["screen"].Next)
		require.Equal(w.t, "A hit.", v.Data.Steps["screen"].Reason)
		require.Equal(w.t, "a1", v.Data.Steps["screen"].By)
		require.Equal(w.t, "server", v.Run.Ended.By)
		require.Nil(w.t, v.Run.Ended.Note)
		require.Equal(w.t, run.StepDone, state(v, "decline"))
		require.Empty(w.t, state(v, "approve"))
	})
	w.run("next or reason on a step whose next is no list is not accepted", func(w world) {
		token := w.claim(A1, w.start("one-step", nil), "work").Token
		w.refusedAs(run.NotAccepted, A1, "submit", submitArgs(token, Args{}, Args{"next": "done", "reason": "x"}), "next:", "reason:")
		w.refusedAs(run.NotAccepted, A1, "submit", submitArgs(token, Args{}, Args{"reason": "x"}), "reason:")
	})
	w.run("what breaks the schema is invalid, and leaves no issues behind", func(w world) {
		id := w.start("one-step", nil)
		token := w.claim(A1, id, "work").Token
		for _, more := range []Args{
			{"output": []any{}}, {"output": nil}, {"summary": 1}, {"summary": strings.Repeat("x", 2001)},
			{"evidence": []Args{{"kind": "photo", "ref": "x"}}}, {"evidence": []Args{{"kind": "file", "ref": "x", "url": "y"}}}, {"note": "x"},
		} {
			w.refusedAs(run.Invalid, A1, "submit", submitArgs(token, Args{}, more), "")
		}
		w.refused(run.Invalid, A1, "submit", Args{"token": token, "requestId": ID(), "output": Args{}}, "summary: missing")
		v := w.view(A1, "escalate", Args{"token": token, "note": "x", "requestId": ID()})
		require.Nil(w.t, v.WorkItems[0].Handoff)
	})
	w.run("a summary of 2000 characters, whatever their bytes, is taken", func(w world) {
		token := w.claim(A1, w.start("one-step", nil), "work").Token
		summary := strings.Repeat("😀", 2000)
		v := w.view(A1, "submit", submitArgs(token, Args{}, Args{"summary": summary}))
		require.Equal(w.t, summary, v.Data.Steps["work"].Summary)
	})
}

func traceEscalate(w world) {
	w.s.Publish(document("hard-task", "", `  - id: work
    agent: Work.
    output: { n: number }
    evidence: [link]
    next: [ok, bad]
  - { id: ok, finish: good }
  - { id: bad, finish: poor }`), nil)
	escalated := func(w world) (string, string) {
		id := w.start("hard-task", nil)
		token := w.claim(A1, id, "work").Token
		v := w.view(A1, "escalate", Args{"token": token, "note": "No access.", "requestId": ID()})
		require.Equal(w.t, run.Waiting, v.Run.State)
		require.Equal(w.t, run.StepWaiting, state(v, "work"))
		return id, token
	}
	w.run("the step waits in the operators' queue with the note, and the token is spent", func(w world) {
		id, token := escalated(w)
		item := w.item(id)
		require.Equal(w.t, "No access.", item.Escalation.Note)
		require.Equal(w.t, "a1", item.Escalation.By)
		require.Equal(w.t, []run.Decision{"returned", "completed", "failed"}, item.Decide.Decisions)
		require.Len(w.t, item.Next, 2)
		require.Len(w.t, w.personWork(Boss, id), 1)
		require.Empty(w.t, w.personWork(Omar, id))
		require.Empty(w.t, w.agentWork(A1, id))
		w.refused(run.Stale, A1, "submit", submitArgs(token, Args{"n": 1}))
		w.refused(run.Forbidden, Omar, "decide", decideArgs(id, item, "returned", Args{"note": "x"}))
		w.refused(run.Invalid, Boss, "decide", decideArgs(id, item, "approved"), "decision: must be one of returned, completed, failed")
	})
	w.run("returned: the step is ready again, and the note travels in the handoff", func(w world) {
		id, _ := escalated(w)
		v := w.decide(Boss, id, "returned", Args{"note": "Now you have."})
		require.Equal(w.t, run.Active, v.Run.State)
		require.Empty(w.t, v.WorkItems)
		require.Nil(w.t, v.Data.Steps["work"], "nothing was completed")
		work := w.agentWork(A2, id)
		require.Equal(w.t, "Now you have.", work[0].Handoff.Returned.Note)
		require.Equal(w.t, "ops@example.com", work[0].Handoff.Returned.By)
		require.Equal(w.t, work[0].Handoff, w.claim(A2, id, "work").Handoff)
	})
	w.run("completed: under the same acceptance, recorded as the person's", func(w world) {
		id, _ := escalated(w)
		a := decideArgs(id, w.item(id), "completed", Args{"output": Args{"n": "1"}})
		w.refusedAs(run.NotAccepted, Boss, "decide", a, "output.n: expected number", "evidence: link required", "next: required, one of ok, bad", "reason: required")
		item := w.item(id)
		require.Len(w.t, item.Handoff.Issues, 4, "the issues of what was not accepted")
		require.Equal(w.t, a["snapshot"], item.Snapshot, "run data did not change")
		a["output"], a["evidence"] = Args{"n": 1}, []Args{{"kind": "link", "ref": "doc-1"}}
		a["next"], a["reason"] = "bad", "It is so."
		v := w.view(Boss, "decide", a)
		require.Equal(w.t, "poor", *v.Run.Outcome)
		require.Equal(w.t, "ops@example.com", v.Data.Steps["work"].By)
		require.Empty(w.t, v.Data.Steps["work"].Summary, "optional from people")
	})
	w.run("failed: the run ends, the step is what failed", func(w world) {
		id, _ := escalated(w)
		v := w.decide(Boss, id, "failed", Args{"note": "Hopeless."})
		require.Equal(w.t, "failed", *v.Run.Outcome)
		require.Equal(w.t, run.StepFailed, state(v, "work"))
		require.Equal(w.t, run.FailedDecision, v.Data.Steps["work"].Decision)
		require.Equal(w.t, "Hopeless.", v.Data.Steps["work"].Note)
		require.Equal(w.t, "Hopeless.", *v.Run.Ended.Note)
		require.Equal(w.t, "ops@example.com", v.Run.Ended.By)
	})
	w.run("a note that says nothing is invalid", func(w world) {
		token := w.claim(A1, w.start("one-step", nil), "work").Token
		w.refusedAs(run.Invalid, A1, "escalate", Args{"token": token, "note": " ", "requestId": ID()}, "note:")
		w.refused(run.Invalid, A1, "escalate", Args{"token": token, "requestId": ID()}, "note: missing")
	})
}
