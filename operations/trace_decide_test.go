package operations_test

import (
	"net/http"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

func traceDecide(w world) {
	w.s.Publish(document("two-approvals", "", `  - { id: one, person: role, approve: One., next: two }
  - { id: two, person: role, approve: Two. }
  - { id: done, finish: agreed }`), map[string]string{"role": "finance"})
	w.s.Publish(document("route-task", "", `  - id: pick
    person: role
    task: Pick.
    output: { n: number }
    evidence: [file]
    next: [left, right]
  - { id: left, finish: left }
  - { id: right, finish: right }`), map[string]string{"role": "finance"})
	w.s.Publish(document("plain-task", "", "  - { id: do, person: role, task: Do. }\n  - { id: done, finish: done }"), map[string]string{"role": "finance"})

	w.run("the checks come in their order", func(w world) {
		id := w.start("two-approvals", nil)
		first := w.item(id)
		stale := Args{"snapshot": "0000"}
		bad := func(item run.WorkItem, more ...Args) Args { return decideArgs(id, item, "completed", more...) }

		// not_found before stale, forbidden and invalid.
		w.refused(run.NotFound, A1, "decide", bad(run.WorkItem{ID: "w_9"}, stale))
		for _, never := range []string{"", "w_0", "w_01", "w_1 ", "w_-1", "one", "w_99999999999999999999", "\x00"} {
			w.refused(run.NotFound, Mira, "decide", decideArgs(id, run.WorkItem{ID: never, Snapshot: first.Snapshot}, "approved"))
		}
		w.refused(run.NotFound, Mira, "decide", decideArgs("r_none", first, "approved"))
		// stale before forbidden and invalid.
		w.refused(run.Stale, A1, "decide", bad(first, stale))
		w.refused(run.Stale, Lena, "decide", bad(first, stale))
		w.refused(run.Stale, Mira, "decide", bad(first, stale))
		// forbidden before invalid.
		for _, who := range []string{A1, Lena, Boss} {
			w.refused(run.Forbidden, who, "decide", bad(first))
			w.refused(run.Forbidden, who, "decide", decideArgs(id, first, "approved"))
		}
		w.refused(run.Invalid, Mira, "decide", bad(first), "decision: must be one of approved, rejected, failed")

		w.ok(Mira, "decide", decideArgs(id, first, "approved"))
		// already_decided before all of them.
		w.refused(run.Conflict, Omar, "decide", decideArgs(id, first, "approved"), "already_decided")
		for _, who := range []string{A1, Lena, Mira} {
			w.refused(run.Conflict, who, "decide", bad(first, stale), "already_decided")
		}
		second := w.item(id)
		require.NotEqual(w.t, first.Snapshot, second.Snapshot)
		w.refused(run.Stale, Mira, "decide", decideArgs(id, second, "approved", Args{"snapshot": first.Snapshot}))
		w.ok(Mira, "decide", decideArgs(id, second, "approved"))
		// run_ended before already_decided and not_found.
		for _, item := range []run.WorkItem{first, second, {ID: "w_9"}} {
			for _, who := range []string{A1, Lena, Mira} {
				w.refused(run.Conflict, who, "decide", decideArgs(id, item, "approved"), "run_ended")
			}
		}
	})
	w.run("a stale decision may be sent again with a fresh snapshot, under the same requestId", func(w world) {
		id := w.start("two-approvals", nil)
		a := decideArgs(id, w.item(id), "approved", Args{"snapshot": "old"})
		w.refused(run.Stale, Mira, "decide", a)
		a["snapshot"] = w.item(id).Snapshot
		w.ok(Mira, "decide", a)
	})
	w.run("arguments that do not go with the decision are invalid, all of them named", func(w world) {
		task, approval := w.start("route-task", nil), w.start("two-approvals", nil)
		all := Args{"output": Args{}, "evidence": []Args{}, "summary": "s", "next": "left", "reason": "r"}
		w.refusedAs(run.Invalid, Mira, "decide", decideArgs(approval, w.item(approval), "approved", all), "output:", "evidence:", "summary:", "next:", "reason:")
		w.refusedAs(run.Invalid, Mira, "decide", decideArgs(approval, w.item(approval), "rejected", all), "output:", "evidence:", "summary:", "next:", "reason:", "note:")
		w.refusedAs(run.Invalid, Mira, "decide", decideArgs(task, w.item(task), "failed", all), "output:", "evidence:", "summary:", "next:", "reason:", "note:")
		w.refusedAs(run.Invalid, Mira, "decide", decideArgs(task, w.item(task), "completed", all, Args{"note": "n"}), "note:")
		w.refusedAs(run.Invalid, Mira, "decide", decideArgs(task, w.item(task), "completed", all, Args{"note": ""}), "note:")
		for _, decision := range []string{"rejected", "failed"} {
			w.refusedAs(run.Invalid, Mira, "decide", decideArgs(approval, w.item(approval), decision), "note:")
			w.refusedAs(run.Invalid, Mira, "decide", decideArgs(approval, w.item(approval), decision, Args{"note": " \n"}), "note:")
		}
		w.refusedAs(run.Invalid, Mira, "decide", decideArgs(approval, w.item(approval), "returned"), "note:")
		for _, a := range []Args{{"decision": "maybe"}, {"decision": ""}, {"snapshot": nil}, {"more": 1}, {"note": 1}} {
			w.refusedAs(run.Invalid, Mira, "decide", decideArgs(approval, w.item(approval), "approved", a), "")
		}
	})
	w.run("each item takes the decisions it lists, and no other", func(w world) {
		task, approval := w.start("plain-task", nil), w.start("two-approvals", nil)
		require.Equal(w.t, []run.Decision{"completed", "failed"}, w.item(task).Decide.Decisions)
		require.Equal(w.t, []run.Decision{"approved", "rejected", "failed"}, w.item(approval).Decide.Decisions)
		for _, decision := range []string{"approved", "rejected", "returned"} {
			a := decideArgs(task, w.item(task), decision)
			if decision != "approved" {
				a["note"] = "n"
			}
			w.refused(run.Invalid, Mira, "decide", a, "decision: must be one of completed, failed")
		}
		w.refused(run.Invalid, Mira, "decide", decideArgs(approval, w.item(approval), "returned", Args{"note": "n"}), "decision: must be one of approved, rejected, failed")
	})
	w.run("a task is completed under the acceptance of a submission", func(w world) {
		id := w.start("route-task", nil)
		item := w.item(id)
		require.Len(w.t, item.Next, 2)
		require.Nil(w.t, item.Handoff)
		a := decideArgs(id, item, "completed", Args{"evidence": []Args{{"kind": "file", "ref": "f_1"}}})
		issues := []string{"output.n: missing", "evidence f_1: not found", "next: required, one of left, right", "reason: required"}
		w.refused(run.NotAccepted, Mira, "decide", a, issues...)
		require.Equal(w.t, issues, w.item(id).Handoff.Issues)
		require.Equal(w.t, issues, w.personWork(Omar, id)[0].WorkItem.Handoff.Issues)
		a["output"], a["next"], a["reason"], a["summary"] = Args{"n": 1}, "right", "Because.", "All done."
		a["evidence"] = []Args{{"kind": "file", "ref": w.upload(Mira, "photo")}}
		v := w.view(Mira, "decide", a)
		require.Equal(w.t, "right", *v.Run.Outcome)
		require.Equal(w.t, "All done.", v.Data.Steps["pick"].Summary)
		require.Equal(w.t, "mira@example.com", v.Data.Steps["pick"].By)
	})
	w.run("next and reason with completed, where next is no list, are not accepted", func(w world) {
		id := w.start("plain-task", nil)
		w.refusedAs(run.NotAccepted, Mira, "decide", decideArgs(id, w.item(id), "completed", Args{"next": "done", "reason": "r"}), "next:", "reason:")
		w.ok(Mira, "decide", decideArgs(id, w.item(id), "completed"))
	})
	w.run("a rejection keeps the note where the step returned to reads it, and history where it was", func(w world) {
		id := w.toApproval()
		v := w.decide(Omar, id, "rejected", Args{"note": "Which list?"})
		approve := v.Data.Steps["approve"]
		require.Equal(w.t, run.Rejected, approve.Decision)
		require.Equal(w.t, "Which list?", approve.Note)
		require.Equal(w.t, "omar@example.com", approve.By)
		require.Empty(w.t, approve.History)
		require.Empty(w.t, state(v, "approve"))
		require.Equal(w.t, run.StepReady, state(v, "screen"))
		require.Nil(w.t, v.Data.Steps["screen"].Completion)
		w.ok(A2, "submit", w.screened(A2, w.claim(A2, id, "screen").Token))
		v = w.get(id)
		require.Equal(w.t, run.Rejected, v.Data.Steps["approve"].Decision, "current until it completes again")
		require.Equal(w.t, "a2", v.Data.Steps["screen"].By)
		require.Equal(w.t, "a1", v.Data.Steps["screen"].History[0].By)
		v = w.decide(Mira, id, "approved")
		require.Equal(w.t, run.Approved, v.Data.Steps["approve"].Decision)
		require.Empty(w.t, v.Data.Steps["approve"].Note)
		require.Equal(w.t, "Which list?", v.Data.Steps["approve"].History[0].Note)
	})
	w.run("without on_reject a rejection ends the run, with its note", func(w world) {
		id := w.start("two-approvals", nil)
		v := w.decide(Mira, id, "rejected", Args{"note": "No."})
		require.Equal(w.t, "rejected", *v.Run.Outcome)
		require.Equal(w.t, "No.", *v.Run.Ended.Note)
		require.Equal(w.t, "mira@example.com", v.Run.Ended.By)
		require.Empty(w.t, v.WorkItems)
	})
	w.run("a note with approved is kept", func(w world) {
		id := w.start("two-approvals", nil)
		require.Equal(w.t, "Fine.", w.decide(Mira, id, "approved", Args{"note": "Fine."}).Data.Steps["one"].Note)
	})
}

func traceEnded(w world) {
	w.run("only an operator cancels, who is a person", func(w world) {
		id := w.start("one-step", nil)
		for _, who := range []string{A1, Mira, Lena} {
			w.refused(run.Forbidden, who, "cancel", Args{"runId": id, "reason": "x", "requestId": ID()})
		}
		w.refused(run.NotFound, Boss, "cancel", Args{"runId": "r_none", "reason": "x", "requestId": ID()})
		w.refusedAs(run.Invalid, Boss, "cancel", Args{"runId": id, "reason": "  ", "requestId": ID()}, "reason:")
		v := w.view(Boss, "cancel", Args{"runId": id, "reason": "Not needed.", "requestId": ID()})
		require.Equal(w.t, run.Cancelled, v.Run.State)
		require.Nil(w.t, v.Run.Outcome)
		require.Equal(w.t, "Not needed.", *v.Run.Ended.Note)
		require.Equal(w.t, "ops@example.com", v.Run.Ended.By)
		require.Equal(w.t, run.StepCancelled, state(v, "work"))
		require.Empty(w.t, state(v, "done"))
	})
	for name, end := range map[string]func(w world, id string){
		"cancelled": func(w world, id string) {
			w.ok(Boss, "cancel", Args{"runId": id, "reason": "x", "requestId": ID()})
		},
		"finished": func(w world, id string) { w.decide(Mira, id, "approved") },
		"failed":   func(w world, id string) { w.decide(Mira, id, "failed", Args{"note": "x"}) },
	} {
		w.run("every write to a run that was "+name+" is refused as run_ended, before anything else", func(w world) {
			id := w.start("screening", Args{"vendor": "x"})
			token := w.claim(A1, id, "screen").Token
			w.ok(A1, "submit", w.screened(A1, token))
			item := w.item(id)
			end(w, id)
			require.Empty(w.t, w.get(id).WorkItems)
			require.Empty(w.t, w.personWork(Mira, id))
			for _, who := range []string{A1, A2, Mira, Boss} {
				for tool, args := range map[string]Args{
					"claim":      {"runId": id, "stepId": "nothing", "requestId": ID()},
					"renew":      {"token": token, "requestId": ID()},
					"submit":     submitArgs(token, Args{"x": 1}),
					"escalate":   {"token": token, "note": "x", "requestId": ID()},
					"decide":     decideArgs(id, item, "completed", Args{"snapshot": "x"}),
					"cancel":     {"runId": id, "reason": "x", "requestId": ID()},
					"send_event": {"runId": id, "name": "x", "requestId": ID()},
				} {
					w.refused(run.Conflict, who, tool, args, "run_ended")
				}
			}
		})
	}
	w.run("an open claim's token stops working when the run is cancelled", func(w world) {
		id := w.start("one-step", nil)
		token := w.claim(A1, id, "work").Token
		w.ok(Boss, "cancel", Args{"runId": id, "reason": "x", "requestId": ID()})
		w.refused(run.Conflict, A1, "submit", submitArgs(token, Args{}), "run_ended")
		require.Empty(w.t, w.agentWork(A1, id))
		require.Equal(w.t, run.StepCancelled, state(w.get(id), "work"))
	})
}

func traceDeletion(w world) {
	remove := func(who, id string) int {
		status, _ := w.http(who, "DELETE", "/api/runs/"+id, "")
		return status
	}
	w.run("an operator deletes a run that is over: its record, its files and its requests", func(w world) {
		start := Args{"process": "screening", "inputs": Args{"vendor": "To be " + ID()}, "requestId": ID()}
		id := w.view(Mira, "start_run", start).Run.ID
		v := w.view(A1, "submit", w.screened(A1, w.claim(A1, id, "screen").Token))
		url := v.Data.Steps["screen"].Evidence[0].URL
		require.Equal(w.t, 409, remove(Boss, id), "it goes on")
		w.decide(Mira, id, "approved")
		for _, who := range []string{A1, Mira} {
			require.Equal(w.t, 403, remove(who, id))
		}
		// The workflow closes a moment after the write that ended it.
		w.eventually("the run is deleted", func() bool { return remove(Boss, id) == 200 })
		require.Equal(w.t, 404, remove(Boss, id))
		w.refused(run.NotFound, Lena, "get_run", Args{"runId": id})
		w.refused(run.NotFound, Boss, "cancel", Args{"runId": id, "reason": "x", "requestId": ID()})
		require.JSONEq(w.t, `{"items":[],"nextCursor":null}`, string(w.ok(Lena, "list_runs", Args{"inputs": start["inputs"]})))
		res, err := http.Get(url) //nolint:noctx // a link that a person opens
		require.NoError(w.t, err)
		_ = res.Body.Close()
		require.Equal(w.t, 404, res.StatusCode)
	})
	w.run("a file that another run cites stays", func(w world) {
		file := []Args{{"kind": "file", "ref": w.upload(A1, "shared")}}
		var views []run.View
		for range 2 {
			id := w.start("screening", Args{"vendor": "x"})
			views = append(views, w.view(A1, "submit", w.screened(A1, w.claim(A1, id, "screen").Token, Args{"evidence": file, "next": "decline"})))
		}
		w.eventually("the run is deleted", func() bool { return remove(Boss, views[0].Run.ID) == 200 })
		res, err := http.Get(w.get(views[1].Run.ID).Data.Steps["screen"].Evidence[0].URL) //nolint:noctx // a link that a person opens
		require.NoError(w.t, err)
		_ = res.Body.Close()
		require.Equal(w.t, 200, res.StatusCode)
	})
}
