package operations_test

import (
	"encoding/json"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

// made is a write that was made, to be sent again.
type made struct {
	by, tool string
	args     Args
	result   json.RawMessage
}

func traceReplay(w world) {
	var all []made
	write := func(w world, by, tool string, args Args) json.RawMessage {
		data := w.ok(by, tool, args)
		all = append(all, made{by, tool, args, data})
		return data
	}
	again := func(w world) {
		for _, m := range all {
			require.Equal(w.t, withoutURLs(m.result), withoutURLs(w.ok(m.by, m.tool, m.args)), m.tool)
		}
	}
	// A run that has every write in it.
	id := read[run.View](w.t, write(w, Mira, "start_run", Args{"process": "screening", "inputs": Args{"vendor": "Ac\u2028me <&>"}, "requestId": ID()})).Run.ID
	file := read[struct{ ID string }](w.t, write(w, A1, "upload", uploadArgs("report"))).ID
	token := read[run.ClaimView](w.t, write(w, A1, "claim", Args{"runId": id, "stepId": "screen", "requestId": ID()})).Token
	token = read[run.ClaimView](w.t, write(w, A1, "renew", Args{"token": token, "progress": "half", "requestId": ID()})).Token
	write(w, A2, "send_event", Args{"runId": id, "name": "noise", "data": json.RawMessage(`{"n":1.0}`), "requestId": ID()})
	write(w, A1, "escalate", Args{"token": token, "note": "Help.", "requestId": ID()})
	write(w, Boss, "decide", decideArgs(id, w.item(id), "returned", Args{"note": "Go on."}))
	token = read[run.ClaimView](w.t, write(w, A2, "claim", Args{"runId": id, "stepId": "screen", "requestId": ID()})).Token
	write(w, A2, "submit", submitArgs(token, json.RawMessage(`{"cleared":true,"summary":"<b>\u0000é"}`), Args{
		"evidence": []Args{{"kind": "file", "ref": file}, {"kind": "link", "ref": "doc"}}, "next": "approve", "reason": "ok",
	}))
	write(w, Mira, "decide", decideArgs(id, w.item(id), "rejected", Args{"note": "Again."}))
	write(w, A1, "claim", Args{"runId": id, "stepId": "screen", "requestId": ID()})

	w.run("a lost response is answered again with the original result, to the byte", again)
	w.run("also once the run has ended", func(w world) {
		write(w, Boss, "cancel", Args{"runId": id, "reason": "Enough.", "requestId": ID()})
		over := w.get(id)
		again(w)
		require.Equal(w.t, over, w.get(id), "and changes nothing")
	})
	w.run("the arguments are the same however they are written", func(w world) {
		raw := json.RawMessage(`{"requestId":"` + all[4].args["requestId"].(string) + `" , "data": {"n" : 1.0}, "name":"noi\u0073e","runId":"` + id + `"}`)
		require.Equal(w.t, string(all[4].result), string(w.ok(A2, "send_event", raw)))
	})
	w.run("a requestId with other arguments is a conflict", func(w world) {
		for _, m := range all {
			args := Args{}
			for k, v := range m.args {
				args[k] = v
			}
			switch m.tool {
			case "start_run":
				args["inputs"] = Args{"vendor": "Other"}
			case "upload":
				args["fileName"] = "other.txt"
			case "claim":
				args["stepId"] = "approve"
			case "renew":
				args["progress"] = "more"
			case "send_event":
				args["data"] = json.RawMessage(`{"n":1}`) // 1 is not 1.0
			case "escalate", "decide":
				args["note"] = "Something else."
			case "submit":
				args["summary"] = "Something else."
			case "cancel":
				args["reason"] = "Something else."
			}
			w.refused(run.Conflict, m.by, m.tool, args, "request_reused")
		}
	})
	w.run("a requestId of another caller is a conflict, and shows nothing of the first one's", func(w world) {
		others := map[string]string{A1: A2, A2: A1, Mira: Omar, Boss: Omar}
		for _, m := range all {
			w.refused(run.Conflict, others[m.by], m.tool, m.args, "request_reused")
		}
	})
	w.run("a requestId of another tool is a conflict", func(w world) {
		fresh := w.start("one-step", nil)
		for _, m := range all {
			r := m.args["requestId"]
			if m.tool != "claim" {
				w.refused(run.Conflict, A1, "claim", Args{"runId": fresh, "stepId": "work", "requestId": r}, "request_reused")
			}
			if m.tool != "upload" {
				args := uploadArgs("other")
				args["requestId"] = r
				w.refused(run.Conflict, A1, "upload", args, "request_reused")
			}
			if m.tool != "start_run" {
				w.refused(run.Conflict, A1, "start_run", Args{"process": "one-step", "inputs": Args{}, "requestId": r}, "request_reused")
			}
		}
		require.Len(w.t, w.agentWork(A1, fresh), 1)
	})
	w.run("a call that failed is not recorded: the same requestId then succeeds, for anyone", func(w world) {
		request := ID()
		w.refused(run.NotFound, A1, "start_run", Args{"process": "none", "inputs": Args{}, "requestId": request})
		w.refused(run.NotFound, A1, "claim", Args{"runId": "r_none", "stepId": "work", "requestId": request})
		fresh := w.start("one-step", nil)
		w.refused(run.NotFound, A1, "claim", Args{"runId": fresh, "stepId": "none", "requestId": request})
		w.refused(run.Forbidden, Mira, "cancel", Args{"runId": fresh, "reason": "x", "requestId": request})
		held := w.claim(A1, fresh, "work")
		w.refused(run.Conflict, A2, "claim", Args{"runId": fresh, "stepId": "work", "requestId": request}, "claimed_by_other")
		w.refused(run.NotAccepted, A1, "submit", submitArgs(held.Token, Args{"x": 1}, Args{"requestId": request}), "output.x: not declared")
		w.refused(run.Stale, A1, "renew", Args{"token": w.spent(), "requestId": request})
		v := w.view(A1, "submit", submitArgs(held.Token, Args{}, Args{"requestId": request}))
		require.Equal(w.t, "done", *v.Run.Outcome)
		w.refused(run.Conflict, A2, "claim", Args{"runId": fresh, "stepId": "work", "requestId": request}, "request_reused")
	})
	w.run("a requestId may be any text of 1 to 128 characters", func(w world) {
		for _, request := range []string{"x", "é😀 \t", "' OR 1=1 --" + ID(), string(make([]byte, 0)) + "r/../" + ID()} {
			args := Args{"process": "one-step", "inputs": Args{}, "requestId": request}
			first := w.ok(A1, "start_run", args)
			require.Equal(w.t, string(first), string(w.ok(A1, "start_run", args)))
		}
		w.refusedAs(run.Invalid, A1, "start_run", Args{"process": "one-step", "inputs": Args{}, "requestId": "a\x00b"}, "requestId:")
	})
	w.run("a run that ended in the write that started it is answered again, too", func(w world) {
		w.s.Publish(document("at-once", "{ at: datetime }", "  - { id: past, wait_until: inputs.at }\n  - { id: done, finish: over }"), nil)
		args := Args{"process": "at-once", "inputs": Args{"at": "2020-01-01T00:00:00Z"}, "requestId": ID()}
		first := w.ok(Mira, "start_run", args)
		require.Equal(w.t, "over", *read[run.View](w.t, first).Run.Outcome)
		require.Equal(w.t, string(first), string(w.ok(Mira, "start_run", args)))
	})
}

// spent is a token that is not current any more, of a run that goes on.
func (w world) spent() string {
	w.t.Helper()
	token := w.claim(A1, w.start("one-step", nil), "work").Token
	w.ok(A1, "renew", Args{"token": token, "requestId": ID()})
	return token
}
