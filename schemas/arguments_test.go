package schemas_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/schemas"
)

func TestCheckArgumentsTellsEveryProblemAtOnce(t *testing.T) {
	long := strings.Repeat("é", 2001)
	for name, c := range map[string]struct {
		tool, raw string
		want      []string
	}{
		"absent arguments count as none given": {"get_work", ``, nil},
		"null counts as none given":            {"describe", ` null `, nil},
		"none given where some are needed":     {"get_run", `null`, []string{"runId: missing"}},
		"an integer may carry a fraction of 0": {"get_work", `{"limit":20.0}`, nil},
		"an integer may carry an exponent":     {"get_work", `{"limit":0.2e2}`, nil},
		"everything missing":                   {"claim", `{}`, []string{"requestId: missing", "runId: missing", "stepId: missing"}},
		"several things wrong": {"get_work", `{"limit":101,"cursor":7,"extra":1,"process":null}`, []string{
			"cursor: must be a string", "extra: not an argument of get_work", "limit: must be at most 100", "process: must be a string"}},
		"a list instead of an object":          {"claim", `[]`, []string{"arguments: must be an object"}},
		"a string instead of an object":        {"describe", `"{}"`, []string{"arguments: must be an object"}},
		"a number instead of an object":        {"describe", `1`, []string{"arguments: must be an object"}},
		"a limit of zero":                      {"list_runs", `{"limit":0}`, []string{"limit: must be at least 1"}},
		"a limit with a fraction":              {"list_runs", `{"limit":1.5}`, []string{"limit: must be a whole number"}},
		"a limit in a string":                  {"list_runs", `{"limit":"5"}`, []string{"limit: must be a whole number"}},
		"a limit of forty digits":              {"list_runs", `{"limit":` + strings.Repeat("9", 40) + `}`, []string{"limit: must be at most 100"}},
		"a limit beyond all bounds":            {"list_runs", `{"limit":-1e999999999999}`, []string{"limit: must be at least 1"}},
		"a limit just over a whole number":     {"list_runs", `{"limit":20.00000000000000000000000000001}`, []string{"limit: must be a whole number"}},
		"a state that is none":                 {"list_runs", `{"state":"open"}`, []string{"state: must be one of active, waiting, ended, cancelled"}},
		"a version beyond the bound":           {"start_run", `{"process":"p","inputs":{},"version":9007199254740992,"requestId":"r"}`, []string{"version: must be at most 9007199254740991"}},
		"a decision that is none":              {"decide", `{"runId":"r","workItemId":"w","snapshot":"s","decision":"maybe","requestId":"q"}`, []string{"decision: must be one of completed, approved, rejected, returned, failed"}},
		"an empty requestId":                   {"get_run", `{"runId":"r","requestId":""}`, []string{"requestId: not an argument of get_run"}},
		"a requestId that is empty":            {"cancel", `{"runId":"r","reason":"","requestId":""}`, []string{"requestId: must not be empty"}},
		"a requestId of 129 characters":        {"cancel", `{"runId":"r","reason":"","requestId":"` + strings.Repeat("é", 129) + `"}`, []string{"requestId: must have at most 128 characters"}},
		"a requestId of 128 characters":        {"cancel", `{"runId":"r","reason":"","requestId":"` + strings.Repeat("\U0001F600", 128) + `"}`, nil},
		"a missing summary":                    {"submit", `{"token":"t","output":{},"requestId":"q"}`, []string{"summary: missing"}},
		"an empty summary is not its business": {"submit", `{"token":"t","output":{},"summary":"","requestId":"q"}`, nil},
		"a long summary":                       {"submit", `{"token":"t","output":{},"summary":"` + long + `","requestId":"q"}`, []string{"summary: must have at most 2000 characters"}},
		"evidence with faults": {"submit", `{"token":"t","output":{},"summary":"s","requestId":"q","evidence":[{"kind":"file","ref":""},{"kind":"photo","url":"u"},"f_1"]}`, []string{
			"evidence[0].ref: must not be empty", "evidence[1].kind: must be one of file, link", "evidence[1].ref: missing",
			"evidence[1].url: not a field of evidence[1]", "evidence[2]: must be an object"}},
		"evidence that is no list":      {"submit", `{"token":"t","output":{},"summary":"s","requestId":"q","evidence":{}}`, []string{"evidence: must be a list"}},
		"an output that is no object":   {"submit", `{"token":"t","output":[],"summary":"s","requestId":"q"}`, []string{"output: must be an object"}},
		"what an output holds is open":  {"submit", `{"token":"t","output":{"a":[1e999999999999,{"b":null}]},"summary":"s","requestId":"q"}`, nil},
		"an event with a name for none": {"send_event", `{"runId":"r","name":"Paid!","requestId":"q"}`, []string{"name: must match ^[a-z][a-z0-9_-]{0,63}$"}},
		"a key in the wrong case":       {"get_run", `{"runId":"r","RUNID":"x"}`, []string{"RUNID: not an argument of get_run"}},
		"a key given twice":             {"get_run", `{"runId":"r","runId":"x"}`, []string{"runId: given more than once"}},
		"a key given twice deep down":   {"submit", `{"token":"t","output":{"a":{"b":1,"b":2}},"summary":"s"}`, []string{"output.a.b: given more than once", "requestId: missing"}},
		"half a surrogate pair":         {"get_run", `{"runId":"\ud800"}`, []string{"runId: holds half of a surrogate pair"}},
		"bytes that are no text":        {"get_run", "{\"runId\":\"\xff\"}", []string{"runId: holds bytes that are not UTF-8"}},
		"data after the arguments":      {"get_run", `{"runId":"r"}{}`, []string{"arguments: data after the JSON value, at byte 13"}},
		"no JSON":                       {"get_run", `{"runId":`, []string{"arguments: not valid JSON: it ends where a value should be"}},
		"too deep":                      {"start_run", `{"process":"p","requestId":"q","inputs":{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`, []string{"arguments: nested deeper than 200 levels"}},
		"a tool that is none":           {"unheard_of", `{}`, []string{`arguments: no tool has the name "unheard_of"`}},
		"a long key is cut":             {"describe", `{"` + strings.Repeat("é", 500) + `":1}`, []string{strings.Repeat("é", 50) + "…: not an argument of describe"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, schemas.CheckArguments(c.tool, json.RawMessage(c.raw)))
		})
	}
}

func TestCheckArgumentsAcceptsTheSamples(t *testing.T) {
	for tool, valid := range samples(t, "arguments") {
		for _, sample := range valid {
			require.Empty(t, schemas.CheckArguments(tool, sample), "%s %s", tool, sample)
		}
	}
}

func TestCheckArgumentsSaysWhatTheSchemaSays(t *testing.T) {
	for tool, valid := range samples(t, "arguments") {
		schema := ours(t, "tools/"+tool+".arguments.json")
		for _, sample := range valid {
			for _, m := range mutations(decode(t, sample)) {
				if m == nil {
					continue // null counts as {}
				}
				lines := schemas.CheckArguments(tool, encode(t, m))
				require.Equal(t, schema.Validate(m) == nil, len(lines) == 0, "%s %s: %q", tool, encode(t, m), lines)
				for _, line := range lines {
					require.NotContains(t, line, "not allowed by the schema", "every keyword has words of its own")
					require.False(t, strings.HasSuffix(line, "must be "), line)
				}
			}
		}
	}
}

func TestANumberOfAMillionDigitsCostsNothing(t *testing.T) {
	started := time.Now()
	for _, text := range []string{strings.Repeat("9", 1<<20), "0." + strings.Repeat("9", 1<<20), "1e999999", "1e-999999"} {
		require.Len(t, schemas.CheckArguments("list_runs", json.RawMessage(`{"limit":`+text+`}`)), 1)
	}
	require.Less(t, time.Since(started), 2*time.Second)
}

func BenchmarkCheckArguments(b *testing.B) {
	upload := `{"fileName":"a.pdf","contentType":"application/pdf","contentBase64":"` + strings.Repeat("QUJD", 1<<18) + `","requestId":"q"}`
	for name, c := range map[string]struct{ tool, raw string }{
		"claim":  {"claim", `{"runId":"r_71","stepId":"pick_model","requestId":"6b0e6f57-0a3e-4b3c-8a7e-5a0f3b1c2d4e"}`},
		"submit": {"submit", `{"token":"v1.abc.def","output":{"model":"T14","price":1790.50,"offers":["a","b","c"]},"evidence":[{"kind":"file","ref":"f_2b"}],"summary":"Compared three offers. Did not ask for a discount.","next":"sign_off","reason":"Fits.","requestId":"6b0e6f57-0a3e-4b3c-8a7e-5a0f3b1c2d4e"}`},
		"upload": {"upload", upload},
	} {
		b.Run(name, func(b *testing.B) {
			raw := json.RawMessage(c.raw)
			require.Empty(b, schemas.CheckArguments(c.tool, raw))
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				schemas.CheckArguments(c.tool, raw)
			}
		})
	}
}
