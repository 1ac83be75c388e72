package operations_test

import (
	"encoding/json"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

func traceEvents(w world) {
	w.s.Publish(awaiting, nil)
	send := func(runID, name string, data ...string) Args {
		a := Args{"runId": runID, "name": name, "requestId": ID()}
		if len(data) > 0 {
			a["data"] = json.RawMessage(data[0])
		}
		return a
	}
	consumed := func(w world, id string, args Args) string {
		r := read[struct{ ConsumedBy *string }](w.t, w.ok(id, "send_event", args))
		if r.ConsumedBy == nil {
			return ""
		}
		return *r.ConsumedBy
	}
	w.run("from an agent or an operator, forbidden otherwise", func(w world) {
		id := w.start("awaiting", nil)
		for _, who := range []string{Mira, Lena, Omar} {
			w.refused(run.Forbidden, who, "send_event", send(id, "paid"))
		}
		require.Equal(w.t, "first", consumed(w, Boss, send(id, "paid")))
		require.Equal(w.t, "second", consumed(w, A2, send(id, "paid")))
		w.refused(run.NotFound, A1, "send_event", send("r_none", "paid"))
	})
	w.run("data becomes the output of the wait, the sender its by", func(w world) {
		id := w.start("awaiting", nil)
		require.Equal(w.t, run.Waiting, w.get(id).Run.State)
		w.ok(A1, "send_event", send(id, "paid", `{"amount":1.50,"of":{"a":[null]}}`))
		v := w.get(id)
		require.Equal(w.t, `{"amount":1.50,"of":{"a":[null]}}`, string(v.Data.Steps["first"].Output))
		require.Equal(w.t, "a1", v.Data.Steps["first"].By)
		w.ok(A1, "send_event", send(id, "paid"))
		require.Empty(w.t, w.get(id).Data.Steps["second"].Output, "no data, no output")
	})
	w.run("an event that no wait is ready for is held, and the oldest is consumed first", func(w world) {
		id := w.start("awaiting", nil)
		require.Empty(w.t, consumed(w, A1, send(id, "nobody")))
		require.Empty(w.t, consumed(w, A1, send(id, "shipped", `{"n":1}`)))
		require.Empty(w.t, consumed(w, Boss, send(id, "shipped", `{"n":2}`)))
		require.Equal(w.t, "first", consumed(w, A1, send(id, "paid", `{}`)))
		require.Equal(w.t, "second", consumed(w, A1, send(id, "paid")))
		v := w.get(id)
		require.Equal(w.t, "settled", *v.Run.Outcome)
		require.Equal(w.t, `{"n":1}`, string(v.Data.Steps["third"].Output))
		w.refused(run.Conflict, A1, "send_event", send(id, "paid"), "run_ended")
	})
	w.run("each delivery satisfies one wait", func(w world) {
		w.s.Publish(document("later", "", "  - { id: work, agent: Work. }\n  - { id: a, wait_for: go }\n  - { id: b, wait_for: go }\n  - { id: done, finish: done }"), nil)
		id := w.start("later", nil)
		require.Empty(w.t, consumed(w, A1, send(id, "go", `{"n":1}`)))
		v := w.view(A1, "submit", submitArgs(w.claim(A1, id, "work").Token, Args{}))
		require.Equal(w.t, run.StepDone, state(v, "a"), "consumed as the step became ready, in the same write")
		require.Equal(w.t, run.StepWaiting, state(v, "b"))
	})
	w.run("names compare exactly, and others than step ids are invalid", func(w world) {
		id := w.start("awaiting", nil)
		require.Empty(w.t, consumed(w, A1, send(id, "paid-")))
		require.Empty(w.t, consumed(w, A1, send(id, "paid_")))
		for _, name := range []string{"", "Paid", "1paid", "paid ", "pa.id", "\x00", "é", "a123456789012345678901234567890123456789012345678901234567890123456"} {
			w.refusedAs(run.Invalid, A1, "send_event", send(id, name), "name:")
		}
		require.Equal(w.t, run.StepWaiting, state(w.get(id), "first"))
	})
	w.run("data that is no object, or has a key twice, is invalid", func(w world) {
		id := w.start("awaiting", nil)
		for _, data := range []string{`[]`, `1`, `"x"`, `null`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":1}}`, `{"a":"\ud800"}`} {
			w.refusedAs(run.Invalid, A1, "send_event", send(id, "paid", data), "")
		}
	})
}
