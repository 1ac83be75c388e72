package canonical_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/canonical"
)

func TestJSON(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"white space goes":                              {" { \"a\" :\t[ 1 ,\r\n2 ] } ", `{"a":[1,2]}`},
		"keys are sorted at every level":                {`{"b":{"d":1,"c":2},"a":[{"z":1,"y":2}]}`, `{"a":[{"y":2,"z":1}],"b":{"c":2,"d":1}}`},
		"keys are sorted by code point, not UTF-16":     {`{"\ud83d\ude00":1,"\uffee":2}`, "{\"\uffee\":2,\"\U0001F600\":1}"},
		"a key sorts as what it means, not as written":  {`{"\\":1,"\u0041":2,"]":3,"B":4,"\"":5,"\n":6,"":7}`, `{"":7,"\n":6,"\"":5,"A":2,"B":4,"\\":1,"]":3}`},
		"a prefix sorts first":                          {`{"ab":1,"a":2}`, `{"a":2,"ab":1}`},
		"a number keeps its text":                       {`[12345678901234567890.123456789,1.0,1E+2,-0]`, `[12345678901234567890.123456789,1.0,1E+2,-0]`},
		"escapes that are not needed go":                {`"\u0041\u002f\/\u003c&\u00e9\u2028"`, "\"A//<&é\u2028\""},
		"control characters have one escape":            {`"\u0008\u000c\u000A\u000d\u0009\u001F\u0000\u007f"`, `"\b\f\n\r\t\u001f\u0000` + "\x7f\""},
		"quote and backslash stay escaped":              {`"\u0022\u005c"`, `"\"\\"`},
		"the replacement character itself is text":      {`"\ufffd"`, "\"\ufffd\""},
		"empty values stay":                             {`[{},[],"",null,true,false]`, `[{},[],"",null,true,false]`},
		"a scalar is a JSON text":                       {"\n-1.5e3 ", `-1.5e3`},
		"nested objects out of order, one inside other": {`{"z":{"z":{"b":1,"a":2},"a":0},"a":1}`, `{"a":1,"z":{"a":0,"z":{"a":2,"b":1}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := canonical.JSON([]byte(c.in))
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
		})
	}
}

func TestJSONRefuses(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"nothing":                {"  ", "it ends where a value should be"},
		"data after the value":   {`{} {}`, "data after the JSON value, at byte 3"},
		"a trailing comma":       {`[1,]`, "expected a value at byte 3"},
		"a key without quotes":   {`{a:1}`, "expected a key at byte 1"},
		"a member without value": {`{"a"}`, "expected a colon at byte 4"},
		"an open object":         {`{"a":1`, "it ends where a comma or a closing brace should be"},
		"an open array":          {`[1 2]`, "expected a comma or a closing bracket"},
		"an open string":         {`"abc`, "it ends where a closing quote should be"},
		"a leading zero":         {`01`, "expected a number at byte 0"},
		"a bare minus":           {`-`, "expected a number"},
		"a bare fraction":        {`1.`, "expected a number"},
		"an empty exponent":      {`1e+`, "expected a number"},
		"a word":                 {`nul`, "expected a value"},
		"a raw control":          {"\"a\nb\"", "an escape for the control character"},
		"an unknown escape":      {`"\x"`, "expected a valid escape at byte 1"},
		"a short escape":         {`"\u12"`, "expected a valid escape"},
		"a byte order mark":      {"\ufeff{}", "expected a value at byte 0"},
		"a key twice":            {`{"a":{"b":1,"c":2,"\u0062":3}}`, "a.b: given more than once"},
		"broken UTF-8":           {"{\"a\":[0,\"\xff\"]}", "a[1]: holds bytes that are not UTF-8"},
		"half a surrogate pair":  {`{"a":"\ud800"}`, "a: holds half of a surrogate pair"},
		"too deep":               {strings.Repeat("[", 1001) + strings.Repeat("]", 1001), "nested deeper than 1000 levels"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := canonical.JSON([]byte(c.in))
			require.ErrorIs(t, err, canonical.ErrInvalid)
			require.ErrorContains(t, err, c.want)
			_, err = canonical.ValueKey([]byte(c.in))
			require.ErrorIs(t, err, canonical.ErrInvalid)
		})
	}
	_, err := canonical.JSON([]byte(strings.Repeat("[", 1000) + strings.Repeat("]", 1000)))
	require.NoError(t, err, "a thousand levels are allowed")
}

func TestStrict(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":[`, n/2) + strings.Repeat("]}", n/2) }
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"a clean text":                   {`{"a":[{"b":1},{"b":1}],"b":1}`, nil},
		"the replacement character":      {"\"\ufffd\\ufffd\"", nil},
		"a surrogate pair":               {`"\ud83d\ude00"`, nil},
		"200 levels":                     {deep(200), nil},
		"202 levels":                     {deep(202), []string{"nested deeper than 200 levels"}},
		"duplicates at every level":      {`{"a":1,"b":{"c":1,"c":2},"a":2,"a":3}`, []string{"b.c: given more than once", "a: given more than once", "a: given more than once"}},
		"duplicates by escape":           {`[{"a":1,"\u0061":2}]`, []string{"[0].a: given more than once"}},
		"keys that read badly":           {`{"a b":{"":1,"":2}}`, []string{`["a b"][""]: given more than once`}},
		"a high surrogate and text":      {`{"x":"\ud800a"}`, []string{"x: holds half of a surrogate pair"}},
		"two high surrogates and a low":  {`["\ud83d\ud83d\ude00"]`, []string{"[0]: holds half of a surrogate pair"}},
		"a low surrogate first":          {`{"x":{"\udc00":1}}`, []string{"x: a key holds half of a surrogate pair"}},
		"broken bytes in key and value":  {"{\"a\":\"\xc3\",\"\xff\":1}", []string{"a: holds bytes that are not UTF-8", "a key holds bytes that are not UTF-8"}},
		"an encoded surrogate":           {"\"\xed\xa0\x80\"", []string{"holds bytes that are not UTF-8", "holds bytes that are not UTF-8", "holds bytes that are not UTF-8"}},
		"trailing data after a problem":  {`{"a":1,"a":2}]`, []string{"a: given more than once", "data after the JSON value, at byte 13"}},
		"no JSON":                        {`{"a":}`, []string{"not valid JSON: expected a value at byte 5"}},
		"nothing":                        {``, []string{"not valid JSON: it ends where a value should be"}},
		"the second element of an array": {`[[],[0,{"k":1,"k":1}]]`, []string{"[1][1].k: given more than once"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, canonical.Strict([]byte(c.in)))
		})
	}

	t.Run("a hostile text gets a short answer", func(t *testing.T) {
		hostile := `{` + strings.Repeat(`"`+strings.Repeat("k", 5000)+`":1,`, 999) + `"b":1}`
		problems := canonical.Strict([]byte(hostile))
		require.Len(t, problems, 50)
		require.Less(t, len(problems[0]), 200)
	})
}

func TestMembers(t *testing.T) {
	members, problems, complete := canonical.Members([]byte(" {\"b\": [1, 2] ,\n\"\\u0061\":{\"c\":\"\\ud800\"},\"b\":null} "))
	require.Equal(t, []canonical.Member{
		{Key: "b", Value: []byte("[1, 2]")}, {Key: "a", Value: []byte(`{"c":"\ud800"}`)}, {Key: "b", Value: []byte("null")},
	}, members)
	require.Equal(t, []canonical.Problem{
		{Path: "a.c", Text: "holds half of a surrogate pair"}, {Path: "b", Text: "given more than once"},
	}, problems)
	require.True(t, complete, "it is JSON all the same")

	for _, text := range []string{`[{"a":1}]`, `"a"`, `{}`} {
		members, problems, complete = canonical.Members([]byte(text))
		require.Empty(t, members, text)
		require.Empty(t, problems, text)
		require.True(t, complete, text)
	}
	for _, text := range []string{`{"a":1`, `{"a":1}x`, ``, `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`} {
		_, problems, complete = canonical.Members([]byte(text))
		require.Len(t, problems, 1, text)
		require.False(t, complete, text)
	}
}

func TestNumberKey(t *testing.T) {
	forty := "1234567890123456789012345678901234567891"
	for want, texts := range map[string][]string{
		"48e3":                 {"48000", "48000.0", "4.8e4", "4.8E+4", "480000e-1", "0.48e5", "4.8e0000000000000000000000004"},
		"0":                    {"0", "-0", "0.0", "-0.00e5", "0e999999999999999999999999", "-0e-9999999999999999999999"},
		"5":                    {"5", "5.0", "50e-1", "0.5e1"},
		"-15e-1":               {"-1.5", "-1.50", "-15e-1", "-0.15e1"},
		"1e999999999999":       {"1e999999999999", "10e999999999998", "0.1e1000000000000"},
		"1e-999999999999":      {"1e-999999999999", "0.001e-999999999996"},
		forty:                  {forty, forty + ".000", forty + "0e-1"},
		forty + "e-39":         {forty[:1] + "." + forty[1:]},
		"1e1" + zeros(30):      {"1e1" + zeros(30), "10e" + nines, "0.1e1" + zeros(29) + "1"},
		"1e" + nines:           {"1e" + nines, "0.1e1" + zeros(30)},
		"-1e-1" + zeros(30):    {"-1e-1" + zeros(30), "-0.1e-" + nines},
		"-1e-" + nines:         {"-10e-1" + zeros(30), "-1e-" + nines},
		"1e12345678901234567":  {"1e12345678901234567", "1e012345678901234567"},
		"1e123456789012345678": {"1e123456789012345678", "100e123456789012345676"},
		"1e99999999999999999":  {"1e99999999999999999", "0.1e100000000000000000", "10e99999999999999998"},
		"1e100000000000000000": {"1e100000000000000000", "10e99999999999999999"},
	} {
		for _, text := range texts {
			require.Equal(t, want, canonical.NumberKey(text), "the key of %s", text)
		}
		require.Equal(t, want, canonical.NumberKey(want), "a key is its own key")
	}
	for _, text := range []string{"", "abc", "01", "1.", "+1", "1 ", "NaN", "-"} {
		require.Equal(t, text, canonical.NumberKey(text), "what is no number is left alone")
	}
	require.NotEqual(t, canonical.NumberKey(forty), canonical.NumberKey(forty[:39]+"2"), "the last of forty digits counts")
}

func zeros(n int) string { return strings.Repeat("0", n) }

var nines = strings.Repeat("9", 30)

func TestValueKey(t *testing.T) {
	key := func(text string) string {
		k, err := canonical.ValueKey([]byte(text))
		require.NoError(t, err)
		return k
	}
	require.Equal(t, key(`{"b":1.50,"a":[4.8e4]}`), key(`{"a":[48000],"\u0062":15e-1}`))
	require.NotEqual(t, key(`"1"`), key(`1`), "a string is not a number")
	require.NotEqual(t, key(`"1.0"`), key(`"1"`), "the text of a string is not a number")
	require.NotEqual(t, key(`{}`), key(`[]`))
	require.NotEqual(t, key(`[1,2]`), key(`[2,1]`), "a list has an order")
	require.NotEqual(t, key(`null`), key(`false`))
}

// document is about as large as a full run record.
func document() []byte {
	var b strings.Builder
	b.WriteString(`{"steps":{`)
	for i := range 100 {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `"step_%d":{"output":{"total":%d.50,"cleared":true,"name":"Acme – \"GmbH\" & Söhne"},"summary":"%s","by":"a_screener","at":"2026-10-06T09:04:12Z","history":[]}`,
			i, i, strings.Repeat("Searched both lists. ", 30))
	}
	b.WriteString(`},"inputs":{"vendorName":"Acme","amount":48000}}`)
	return []byte(b.String())
}

const claimArguments = `{"runId":"r_8f2","stepId":"check_vendor","requestId":"3f0c7a52-0c1e-4f0e-9a53-3b9d5f6b2f10"}`

func BenchmarkJSON(b *testing.B) {
	for name, text := range map[string][]byte{"claim": []byte(claimArguments), "record": document()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := canonical.JSON(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStrict(b *testing.B) {
	for name, text := range map[string][]byte{"claim": []byte(claimArguments), "record": document()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if canonical.Problems(text) != nil {
					b.Fatal("a clean text has problems")
				}
			}
		})
	}
}

func BenchmarkValueKey(b *testing.B) {
	text := document()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := canonical.ValueKey(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBaseline is what hashing alone and decoding alone cost.
func BenchmarkBaseline(b *testing.B) {
	text := document()
	b.Run("sha256", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			sha256.Sum256(text)
		}
	})
	b.Run("valid", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			json.Valid(text)
		}
	})
}
