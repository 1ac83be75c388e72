package process_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
)

// fields declares fields in JSON, as MarshalJSON writes them.
func fields(t *testing.T, declared string) process.Fields {
	t.Helper()
	var fs process.Fields
	require.NoError(t, json.Unmarshal([]byte(declared), &fs))
	return fs
}

func TestCheckReportsEveryIssueAtOnce(t *testing.T) {
	const digits = "12345678901234567890.123456789012345678901234567890"
	for name, c := range map[string]struct {
		declared, value string
		want            []string
	}{
		"declared fields in file order, then undeclared ones by name": {
			`{"zeta":"string","cleared":"boolean","summary":"string"}`,
			`{"zz":1,"extra":null,"cleared":"yes","summary":7}`,
			[]string{"output.zeta: missing", "output.cleared: expected boolean", "output.summary: expected string",
				"output.extra: not declared", "output.zz: not declared"}},
		"nothing is wrong":             {`{"a":"string","b":{"type":"number","optional":true}}`, `{"a":""}`, nil},
		"null is not a value":          {`{"a":"string","b":{"type":"number","optional":true}}`, `{"a":null,"b":null}`, []string{"output.a: expected string", "output.b: expected number"}},
		"the value is an object":       {`{}`, `[]`, []string{"output: expected object"}},
		"and JSON":                     {`{}`, `{"a":}`, []string{"output: expected object"}},
		"null is no object":            {`{}`, `null`, []string{"output: expected object"}},
		"an absent value has no field": {`{"a":"string"}`, ``, []string{"output.a: missing"}},
		"a key twice":                  {`{"a":"string","b":"object"}`, `{"a":"x","a":"y","b":{"c":1,"c":2}}`, []string{"output.a: given twice", "output.b.c: given twice"}},
		"scalars of every type": {
			`{"s":"string","n":"number","b":"boolean","d":"date","t":"datetime","p":"person","l":"list","o":"object"}`,
			`{"s":"x","n":-1.5e3,"b":false,"d":"2024-02-29","t":"2024-02-29T23:59:59.5+02:00","p":"mira@example.com","l":[1,null,"x"],"o":{"x":null}}`, nil},
		"and none of them": {
			`{"s":"string","n":"number","b":"boolean","d":"date","t":"datetime","p":"person","l":"list","o":"object"}`,
			`{"s":1,"n":"1","b":0,"d":"2023-02-29","t":"2024-02-29","p":"mira","l":{},"o":[]}`,
			[]string{"output.s: expected string", "output.n: expected number", "output.b: expected boolean", "output.d: expected date",
				"output.t: expected datetime", "output.p: expected person", "output.l: expected list", "output.o: expected object"}},
		"one_of":              {`{"kind":{"type":"string","one_of":["a","b"]}}`, `{"kind":"c"}`, []string{"output.kind: expected one of a, b"}},
		"one_of after type":   {`{"kind":{"type":"string","one_of":["a","b"]}}`, `{"kind":3}`, []string{"output.kind: expected string"}},
		"one_of of numbers":   {`{"n":{"type":"number","one_of":[1.50,2]}}`, `{"n":3}`, []string{"output.n: expected one of 1.50, 2"}},
		"numbers by value":    {`{"n":{"type":"number","one_of":[1.50]},"m":{"type":"number","one_of":[0]}}`, `{"n":15e-1,"m":-0.0e7}`, nil},
		"strings by points":   {`{"s":{"type":"string","one_of":["é"]}}`, "{\"s\":\"e\u0301\"}", []string{"output.s: expected one of é"}},
		"escapes are no text": {`{"s":{"type":"string","one_of":["é"]}}`, `{"s":"\u00e9"}`, nil},
		"forty digits":        {`{"n":{"type":"number","one_of":[` + digits + `]}}`, `{"n":` + digits + `}`, nil},
		"the last of them":    {`{"n":{"type":"number","one_of":[` + digits + `]}}`, `{"n":` + digits + `1}`, []string{"output.n: expected one of " + digits}},
		"vast exponents":      {`{"n":{"type":"number","one_of":[1]},"m":{"type":"number","one_of":[1e3]}}`, `{"n":1e999999999,"m":10E-99999999999999999999}`, []string{"output.n: expected one of 1", "output.m: expected one of 1e3"}},
		"items": {
			`{"items":{"type":"list","items":"string"},"deep":{"type":"list","items":{"type":"list","items":{"type":"number","one_of":[1]}}}}`,
			`{"items":["a","b",3,null],"deep":[[1],[1.0,2,"x"],7]}`,
			[]string{"output.items[2]: expected string", "output.items[3]: expected string", "output.deep[1][1]: expected one of 1",
				"output.deep[1][2]: expected number", "output.deep[2]: expected list"}},
		"one_of of lists": {`{"l":{"type":"list","one_of":[[1,"a"]]}}`, `{"l":[1.0,"a"]}`, nil},
		"another list":    {`{"l":{"type":"list","one_of":[[1,"a"]]}}`, `{"l":["a",1]}`, []string{`output.l: expected one of [1,"a"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, fields(t, c.declared).Check("output", json.RawMessage(c.value)))
		})
	}
}

func TestAVeryDeepValueIsNoObject(t *testing.T) {
	deep := `{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`
	require.Equal(t, []string{"inputs: expected object"}, fields(t, `{"a":"list"}`).Check("inputs", json.RawMessage(deep)))
}

func TestFieldsKeepTheirDeclaration(t *testing.T) {
	const declared = `{"z":"boolean","a":{"description":"<in> \"USD\"","type":"number","one_of":[1.50,2e3,12345678901234567890.1234567890],"optional":true},` +
		`"l":{"type":"list","items":{"type":"string"}},"s":{"type":"string"}}`
	fs := fields(t, declared)
	require.Equal(t, "z", fs[0].Name)
	require.Equal(t, process.Number, fs.Field("a").Type)
	require.Equal(t, []json.RawMessage{json.RawMessage("1.50"), json.RawMessage("2e3"), json.RawMessage("12345678901234567890.1234567890")}, fs.Field("a").OneOf)
	require.Equal(t, process.String, fs.Field("l").Items.Type)
	require.Nil(t, fs.Field("nobody"))
	got, err := fs.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, declared, string(got))
}

func TestFieldsBuiltByHandMarshalAndCheck(t *testing.T) {
	fs := process.Fields{
		{Name: "a", Type: process.String},
		{Name: "b", Type: process.Number, Optional: true, Description: "x", OneOf: []json.RawMessage{json.RawMessage("1"), json.RawMessage("2")}},
		{Name: "c", Type: process.List, Items: &process.Field{Type: process.Person}},
	}
	got, err := json.Marshal(fs)
	require.NoError(t, err)
	require.JSONEq(t, `{"a":"string","b":{"type":"number","description":"x","optional":true,"one_of":[1,2]},"c":{"type":"list","items":"person"}}`, string(got))
	require.Equal(t, []string{"o.b: expected one of 1, 2"}, fs.Check("o", json.RawMessage(`{"a":"x","b":3,"c":[]}`)))
}

func TestFieldsRefuseWhatIsNoDeclaration(t *testing.T) {
	for _, bad := range []string{`{"a":"text"}`, `{"a":"string","a":"number"}`, `[]`, `{"a":{"type":"string","x":1}}`} {
		var fs process.Fields
		require.Error(t, json.Unmarshal([]byte(bad), &fs), bad)
	}
	fs := process.Fields{{}}
	require.NoError(t, json.Unmarshal([]byte("null"), &fs))
	require.Nil(t, fs)
}

func TestPersonsAreListedInOrderOfDeclaration(t *testing.T) {
	fs := fields(t, `{"boss":"person","team":{"type":"list","items":"person"},"deep":{"type":"list","items":{"type":"list","items":"person"}},"name":"string","any":"list"}`)
	got := fs.Persons(json.RawMessage(`{"deep":[["d@x.io"],[]],"team":["a@x.io","nobody","b@x.io"],"boss":"Mira@Example.com","name":"n@x.io","any":["q@x.io"]}`))
	require.Equal(t, []process.PersonValue{
		{Path: "boss", Value: "Mira@Example.com"}, {Path: "team[0]", Value: "a@x.io"},
		{Path: "team[2]", Value: "b@x.io"}, {Path: "deep[0][0]", Value: "d@x.io"}}, got)
	require.Empty(t, fs.Persons(json.RawMessage(`[]`)))
	require.Empty(t, fs.Persons(json.RawMessage(`{"boss":`)))
}

func TestDatesExist(t *testing.T) {
	fs := fields(t, `{"d":"date"}`)
	for date, ok := range map[string]bool{
		"2024-02-29": true, "2000-02-29": true, "9999-12-31": true, "0001-01-01": true,
		"2023-02-29": false, "1900-02-29": false, "2024-04-31": false, "2024-13-01": false, "2024-00-10": false, "2024-01-00": false,
		"2024-1-01": false, "24-01-01": false, "2024-01-01 ": false, "2024-01-01T00:00:00Z": false, "2024/01/01": false, "": false, "-2024-01-01": false,
		"٢٠٢٤-01-01": false, "2024-01-01\n": false,
	} {
		value, _ := json.Marshal(map[string]string{"d": date})
		require.Equal(t, ok, len(fs.Check("o", value)) == 0, date)
	}
}

func TestDatetimesAreRFC3339WithOffset(t *testing.T) {
	for s, want := range map[string]string{
		"2026-10-06T09:00:00Z":            "2026-10-06T09:00:00Z",
		"2026-10-06t09:00:00z":            "2026-10-06T09:00:00Z",
		"2026-10-06T09:00:00+02:00":       "2026-10-06T07:00:00Z",
		"2026-10-06T00:30:00+02:00":       "2026-10-05T22:30:00Z",
		"2026-10-06T09:00:00-00:00":       "2026-10-06T09:00:00Z",
		"2026-10-06T09:00:00.25-23:59":    "2026-10-07T08:59:00.25Z",
		"2026-10-06T09:00:00.1234567891Z": "2026-10-06T09:00:00.123456789Z",
		"2016-12-31T23:59:60Z":            "2017-01-01T00:00:00Z",
		"2017-01-01T00:59:60+01:00":       "2017-01-01T00:00:00Z",
		"2016-12-31T23:59:60+01:00":       "",
		"2016-12-31T22:59:60Z":            "",
		"2016-12-31T23:59:61Z":            "",
		"2026-10-06T09:00:00":             "",
		"2026-10-06 09:00:00Z":            "",
		"2026-10-06T09:00Z":               "",
		"2026-10-06T24:00:00Z":            "",
		"2026-10-06T09:60:00Z":            "",
		"2026-02-29T09:00:00Z":            "",
		"2026-10-06T09:00:00+24:00":       "",
		"2026-10-06T09:00:00+02:60":       "",
		"2026-10-06T09:00:00+0200":        "",
		"2026-10-06T09:00:00.Z":           "",
		"2026-10-06T09:00:00,5Z":          "",
		"2026-10-06":                      "",
		"":                                "",
	} {
		got, ok := process.ParseDatetime(s)
		require.Equal(t, want != "", ok, s)
		if ok {
			require.Equal(t, want, got.Format(time.RFC3339Nano), s)
		}
	}
}

func TestAPersonIsAnEmailAddress(t *testing.T) {
	for s, ok := range map[string]bool{
		"mira@example.com": true, "Mira.O'Neil+x@mail.example.co.uk": true, "a@b.c": true, "a_b-c@x-y.io": true,
		strings.Repeat("a", 64) + "@example.com": true, strings.Repeat("a", 65) + "@example.com": false,
		"a@" + strings.Repeat("b", 63) + ".com": true, "a@" + strings.Repeat("b", 64) + ".com": false,
		"a@" + strings.Repeat("bb.", 90) + "com": false,
		"":                                       false, "mira": false, "@example.com": false, "mira@": false, "mira@localhost": false, "mira@example..com": false,
		".mira@example.com": false, "mira.@example.com": false, "mi..ra@example.com": false, "mi ra@example.com": false,
		"mira@-example.com": false, "mira@example-.com": false, "mira@example.com.": false, "a@b@example.com": false,
		"\"a b\"@example.com": false, "mira@[127.0.0.1]": false, "Mira <mira@example.com>": false, "mïra@example.com": false,
		"mira@exämple.com": false, "mira@example.com\n": false, " mira@example.com": false,
	} {
		require.Equal(t, ok, process.WellFormedPerson(s), "%q", s)
	}
}
