package operations_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

// numbers are written in ways that a double, or a decimal of a database, loses.
var numbers = []string{
	"1234567890123456789012345678901234567890", "12345678901234567890.123456789", "-0", "0.10", "1.0", "1e400", "-1E-400", "1E+2",
	"0.1234567890123456789012345678901234567890", "9007199254740993", "4.80e4",
}

func traceValues(w world) {
	w.s.Publish(document("values", "{ n: number, o: object, l: { type: list, items: number } }", `  - id: work
    agent: Work.
    output: { n: number, o: object, l: { type: list, items: number } }
  - { id: wait, wait_for: go }
  - { id: done, finish: done }`), nil)
	w.run("numbers come back as they came, from inputs, outputs and event data", func(w world) {
		for _, n := range numbers {
			value := json.RawMessage(fmt.Sprintf(`{"n":%s,"o":{"a":[%s,{"b":%s}]},"l":[%s]}`, n, n, n, n))
			started := w.view(Mira, "start_run", Args{"process": "values", "inputs": value, "requestId": ID()})
			require.Equal(w.t, string(value), string(started.Data.Inputs))
			id := started.Run.ID
			c := w.claim(A1, id, "work")
			require.Equal(w.t, string(value), string(c.Data.Inputs))
			v := w.view(A1, "submit", submitArgs(c.Token, value))
			require.Equal(w.t, string(value), string(v.Data.Steps["work"].Output))
			w.ok(A1, "send_event", Args{"runId": id, "name": "go", "data": value, "requestId": ID()})
			v = w.get(id)
			require.Equal(w.t, "done", *v.Run.Outcome)
			require.Equal(w.t, string(value), string(v.Data.Inputs))
			require.Equal(w.t, string(value), string(v.Data.Steps["work"].Output))
			require.Equal(w.t, string(value), string(v.Data.Steps["wait"].Output))
			require.Contains(w.t, string(w.ok(Lena, "list_runs", Args{"process": "values", "limit": 1})), `"inputs":`+string(value))
		}
	})
	w.s.Publish(document("typed", `{ d: { type: date, optional: true }, t: { type: datetime, optional: true }, s: { type: string, optional: true },
  c: { type: number, one_of: [1, 2.50], optional: true }, l: { type: list, items: { type: string, one_of: [a, b] }, optional: true },
  b: { type: boolean, optional: true }, p: { type: person, optional: true }, o: { type: object, optional: true } }`,
		"  - { id: work, agent: Work. }\n  - { id: done, finish: done }"), nil)
	start := func(inputs string) Args {
		return Args{"process": "typed", "inputs": json.RawMessage(inputs), "requestId": ID()}
	}
	w.run("dates and times that do not exist are refused", func(w world) {
		for _, d := range []string{`"2026-02-29"`, `"2026-13-01"`, `"2026-00-10"`, `"2026-04-31"`, `"1900-02-29"`, `"26-01-01"`, `"2026-1-1"`, `"2026-01-01T00:00:00Z"`, `""`, `" 2026-01-01"`, `20260101`, `null`, `"２026-01-01"`} {
			w.refusedAs(run.Invalid, Mira, "start_run", start(`{"d":`+d+`}`), "inputs.d: ")
		}
		for _, d := range []string{`"2026-10-06T09:00:00"`, `"2026-02-30T09:00:00Z"`, `"2026-10-06T24:00:00Z"`, `"2026-10-06T09:60:00Z"`, `"2026-10-06T09:00:00+25:00"`, `"2026-10-06 09:00"`, `"2026-10-06"`, `1`, `"2026-10-06T09:00:00.Z"`, `"2026-10-06T09:00:00+0200"`} {
			w.refusedAs(run.Invalid, Mira, "start_run", start(`{"t":`+d+`}`), "inputs.t: ")
		}
	})
	w.run("dates and times that do exist are taken, as written", func(w world) {
		for _, in := range []string{
			`{"d":"2028-02-29"}`, `{"d":"2000-02-29"}`, `{"d":"0001-01-01"}`, `{"d":"9999-12-31"}`,
			`{"t":"2026-10-06T09:00:00Z"}`, `{"t":"2026-10-06T09:00:00.123456789012-23:59"}`, `{"t":"2026-10-06T09:00:00+14:00"}`,
		} {
			require.Equal(w.t, in, string(w.view(Mira, "start_run", start(in)).Data.Inputs))
		}
	})
	w.run("one_of is held by value, inside lists too; null is no value; nothing is converted", func(w world) {
		for in, issue := range map[string]string{
			`{"c":3}`: "inputs.c: ", `{"c":"1"}`: "inputs.c: expected number", `{"l":["a","c"]}`: "inputs.l[1]: ", `{"l":"a"}`: "inputs.l: expected list",
			`{"l":[null]}`: "inputs.l[0]: ", `{"b":"true"}`: "inputs.b: expected boolean", `{"b":1}`: "inputs.b: expected boolean", `{"o":[]}`: "inputs.o: expected object",
			`{"s":null}`: "inputs.s: ", `{"p":"nobody@example.com"}`: "inputs.p: ", `{"p":"Mira"}`: "inputs.p: ", `{"S":"x"}`: "inputs.S: not declared", `{"":1}`: "inputs.",
		} {
			w.refusedAs(run.Invalid, Mira, "start_run", start(in), issue)
		}
		for _, in := range []string{`{"c":1.0}`, `{"c":25e-1}`, `{"l":[]}`, `{"l":["b","a","b"]}`, `{"o":{}}`, `{"p":"MIRA@example.com"}`, `{"s":""}`} {
			w.ok(Mira, "start_run", start(in))
		}
	})
	w.run("any text comes back as it came", func(w world) {
		for _, s := range []string{"\x00", "a\x00b", "<script>&amp;'\"\\/", "\u2028\u2029\ufeff", "😀 é e\u0301 \u202e", "\x7f\x01\t\r\n", strings.Repeat("字", 5000)} {
			in := Args{"s": s, "o": Args{s: []any{s, Args{"k": s}}}}
			v := w.view(Mira, "start_run", Args{"process": "typed", "inputs": in, "requestId": ID()})
			got := read[struct {
				S string
				O map[string]json.RawMessage
			}](w.t, w.get(v.Run.ID).Data.Inputs)
			require.Equal(w.t, s, got.S)
			require.Contains(w.t, got.O, s)
			token := w.claim(A1, v.Run.ID, "work").Token
			require.NotEmpty(w.t, w.view(A1, "submit", submitArgs(token, Args{}, Args{"summary": "ok" + s[:1]})).Run.Outcome)
			found := read[struct{ Items []struct{ ID string } }](w.t, w.ok(Lena, "list_runs", Args{"process": "typed", "inputs": Args{"s": s}}))
			require.Len(w.t, found.Items, 1)
		}
	})
	w.run("a key given twice, half a surrogate and deep nesting are invalid", func(w world) {
		deep := strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000)
		for _, in := range []string{`{"s":"a","s":"b"}`, `{"o":{"a":1,"\u0061":2}}`, `{"s":"\ud800"}`, `{"o":{"\udc00":1}}`, `{"o":` + deep + `}`} {
			r := w.call(Mira, "start_run", start(in))
			require.False(w.t, r.OK, in)
			require.Equal(w.t, run.Invalid, r.Error.Code)
			require.NotEmpty(w.t, r.Error.Issues)
		}
	})
}

func traceCap(w world) {
	text := func(n int) string { return strings.Repeat("x", n) }
	capBytes := read[struct{ Limits struct{ RunDataBytes int } }](w.t, w.ok(Lena, "describe", nil)).Limits.RunDataBytes
	require.Equal(w.t, 16<<10, capBytes)
	w.run("inputs over the cap are invalid, inputs just under it start", func(w world) {
		w.refusedAs(run.Invalid, Mira, "start_run", Args{"process": "one-step", "inputs": Args{"note": text(capBytes)}, "requestId": ID()}, "run data:")
		w.ok(Mira, "start_run", Args{"process": "one-step", "inputs": Args{"note": text(capBytes - 100)}, "requestId": ID()})
	})
	w.run("a submission over the cap is not accepted, with its other issues, and the next claimant learns why", func(w world) {
		id := w.start("one-step", nil)
		c := w.claim(A1, id, "work")
		for _, size := range []int{capBytes - 50, capBytes + 1, 40 * capBytes} {
			w.refusedAs(run.NotAccepted, A1, "submit", submitArgs(c.Token, Args{"text": text(size), "x": 1}), "output.x: not declared", "run data:")
		}
		v := w.view(A1, "escalate", Args{"token": c.Token, "note": "Too large.", "requestId": ID()})
		require.Len(w.t, v.WorkItems[0].Handoff.Issues, 2)
		require.Contains(w.t, v.WorkItems[0].Handoff.Issues[1], "run data:")
		w.decide(Boss, id, "returned", Args{"note": "Shorten it."})
		require.Contains(w.t, w.claim(A2, id, "work").Handoff.Issues[1], "run data:")
	})
	w.run("a submission just under the cap is accepted, and comes back whole", func(w world) {
		id := w.start("one-step", nil)
		big := text(capBytes - 600)
		v := w.view(A1, "submit", submitArgs(w.claim(A1, id, "work").Token, Args{"text": big}))
		require.Equal(w.t, `{"text":"`+big+`"}`, string(v.Data.Steps["work"].Output))
	})
	w.run("what is held counts: an event over what is left is invalid, and nothing of it is held", func(w world) {
		id := w.start("awaiting", nil)
		send := func(name string, n int) Args {
			return Args{"runId": id, "name": name, "data": Args{"x": text(n)}, "requestId": ID()}
		}
		for _, n := range []int{capBytes, 10 * capBytes} {
			w.refusedAs(run.Invalid, A1, "send_event", send("paid", n), "run data:")
		}
		w.refused(run.Forbidden, Lena, "send_event", send("paid", 10*capBytes))
		w.ok(A1, "send_event", send("shipped", capBytes/2))
		w.refusedAs(run.Invalid, A1, "send_event", send("shipped", capBytes/2), "run data:")
		w.refusedAs(run.Invalid, A1, "send_event", send("paid", capBytes/2), "run data:")
		w.ok(A1, "send_event", send("paid", 1))
		w.ok(A1, "send_event", send("paid", 1))
		require.Equal(w.t, "settled", *w.get(id).Run.Outcome)
		w.refused(run.Conflict, A1, "send_event", send("paid", 10*capBytes), "run_ended")
	})
	w.run("more issues, and larger ones, than a run can be told of come all the same, and leave the run as it was", func(w world) {
		id := w.start("one-step", nil)
		c := w.claim(A1, id, "work")
		var fields strings.Builder
		for i := range 20000 {
			fmt.Fprintf(&fields, `,"k%d":1`, i)
		}
		r := w.call(A1, "submit", submitArgs(c.Token, json.RawMessage(`{"x":1`+fields.String()+`}`)))
		require.Equal(w.t, run.NotAccepted, r.Error.Code)
		require.Len(w.t, r.Error.Issues, 20002)
		large := text(3 << 20)
		w.refusedAs(run.NotAccepted, A1, "submit", submitArgs(c.Token, Args{}, Args{"next": large}), "next:")
		w.refusedAs(run.NotAccepted, A1, "submit", submitArgs(c.Token, Args{}, Args{"evidence": []Args{{"kind": "file", "ref": large}}}), "evidence "+large, "run data:")
		w.ok(A1, "escalate", Args{"token": c.Token, "note": "It does not fit.", "requestId": ID()})
		item := w.item(id)
		require.NotEmpty(w.t, item.Handoff.Issues)
		require.Less(w.t, len(strings.Join(item.Handoff.Issues, "")), capBytes)
		w.refused(run.Stale, Boss, "decide", decideArgs(id, item, "completed", Args{"snapshot": large}))
		w.refused(run.NotFound, Boss, "decide", decideArgs(id, run.WorkItem{ID: large}, "completed"))
		w.refusedAs(run.NotAccepted, Boss, "decide", decideArgs(id, item, "completed", Args{"next": large}), "next:")
		w.refused(run.NotFound, A1, "claim", Args{"runId": id, "stepId": large, "requestId": ID()})
		w.refused(run.NotFound, A1, "claim", Args{"runId": large, "stepId": "work", "requestId": ID()})
		w.refused(run.NotFound, A1, "start_run", Args{"process": large, "inputs": Args{}, "requestId": ID()})
		w.refusedAs(run.Invalid, A1, "submit", submitArgs(large, Args{}), "token:")
		w.ok(Boss, "decide", decideArgs(id, item, "completed"))
	})
	w.run("an upload over maxUploadBytes is invalid, one at it is stored", func(w world) {
		limit := read[struct{ MaxUploadBytes int }](w.t, w.ok(A1, "describe", nil)).MaxUploadBytes
		require.Equal(w.t, 4<<10, limit)
		w.upload(A1, text(limit))
		w.refusedAs(run.Invalid, A1, "upload", uploadArgs(text(limit+1)), "contentBase64:")
		w.refusedAs(run.Invalid, A1, "upload", uploadArgs(text(1<<20)), "contentBase64:")
	})
}
