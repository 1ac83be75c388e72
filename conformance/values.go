package conformance

import (
	"encoding/json"
	"fmt"

	"github.com/agentprocess-temporal/server/process"
)

// sample is a valid value for each declared field, numbers and texts that are
// easily damaged among them. n makes samples differ.
func (s *Suite) sample(fields process.Fields, n int) Args {
	out := Args{}
	for i := range fields {
		f := &fields[i]
		if f.Optional && n%2 == 1 {
			continue
		}
		out[f.Name] = s.sampleValue(f, n+i)
	}
	return out
}

func (s *Suite) sampleValue(f *process.Field, n int) any {
	if len(f.OneOf) > 0 {
		return f.OneOf[n%len(f.OneOf)]
	}
	switch f.Type {
	case process.Number:
		return json.Number([]string{
			fmt.Sprintf("12345678901234567890.12345678901234567%d", n%10), "9007199254740993", "-0.1", "1e-7", "0.30000000000000004",
		}[n%5])
	case process.Boolean:
		return n%2 == 0
	case process.Date:
		return []string{"2028-02-29", "2026-12-31"}[n%2]
	case process.Datetime:
		return []string{"2020-01-02T03:04:05Z", "2019-12-31T23:59:59.123456+05:30"}[n%2]
	case process.List:
		if f.Items != nil {
			return []any{s.sampleValue(f.Items, n), s.sampleValue(f.Items, n+1)}
		}
		return []any{"a", json.Number("1.50"), true, Args{"k": []any{}}, []any{json.Number("9007199254740993")}}
	case process.Object:
		return Args{"n": json.Number("123456789012345678901234567890"), "t": "ü \u2028 \"q\" \\ <b>&</b>", "e": Args{}, "l": []any{nil, false}}
	case process.Person:
		return s.Member.Person
	}
	return fmt.Sprintf("text %d: ünï©ode 日本語 😀 \"quoted\" <&> \\ \n\t.", n)
}
