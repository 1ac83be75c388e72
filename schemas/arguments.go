package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentprocess-temporal/server/internal/canonical"
)

// CheckArguments checks the arguments of a call before anything reads them and
// returns every problem at once, a line each, sorted, such as
// `requestId: missing`; nil when there is none. They are the issues of `invalid`
// (spec §6.3).
//
// It refuses what decoding would hide or change (see canonical.Problems) and
// what the tool's schema forbids. Absent arguments and null count as `{}`; so
// must the reader of the arguments have it. What is within `inputs`, `output`
// and `data` is the business of the process, not of the schema.
func CheckArguments(tool string, raw json.RawMessage) []string {
	schema := compiled()[argumentsFile(tool)]
	if schema == nil {
		return []string{fmt.Sprintf("arguments: no tool has the name %q", tool)}
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage(`{}`)
	}
	members, problems, complete := canonical.Members(raw)
	var lines []string
	for _, p := range problems {
		if p.Path == "" {
			p.Path = whole
		}
		lines = append(lines, p.String())
	}
	if !complete {
		return lines // what is no JSON has no arguments
	}
	value, err := shallow(raw, members, open()[tool])
	if err != nil {
		return append(lines, whole+": cannot be read")
	}
	var invalid *jsonschema.ValidationError
	if errors.As(schema.Validate(value), &invalid) {
		lines = appendProblems(lines, tool, invalid)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// CheckResult checks the `data` of a successful call against the tool's result
// schema, formats included. It is meant for tests.
func CheckResult(tool string, data json.RawMessage) error {
	schema := compiled()[resultFile(tool)]
	if schema == nil {
		return fmt.Errorf("no tool has the name %q", tool)
	}
	if problems := canonical.Strict(data); problems != nil {
		return errors.New(strings.Join(problems, "; "))
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// open names the arguments of each tool that may hold any object. Their content
// need not be decoded to be checked.
var open = sync.OnceValue(func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, tool := range Tools() {
		all[tool] = map[string]bool{}
		properties, _ := documents()[argumentsFile(tool)]["properties"].(map[string]any)
		for name, schema := range properties {
			if schema.(map[string]any)["additionalProperties"] == true {
				all[tool][name] = true
			}
		}
	}
	return all
})

// shallow decodes arguments as far as the schemas look. An open object becomes
// an empty one, and what is no object at all a value of the same type.
func shallow(raw []byte, members []canonical.Member, open map[string]bool) (any, error) {
	switch raw[0] {
	case '{':
	case '[':
		return []any{}, nil
	case '"':
		return "", nil
	case 't', 'f':
		return true, nil
	default:
		return json.Number("0"), nil
	}
	object := make(map[string]any, len(members))
	for _, m := range members {
		if open[m.Key] && m.Value[0] == '{' {
			object[m.Key] = map[string]any{}
			continue
		}
		value, err := decode(m.Value)
		if err != nil {
			return nil, err
		}
		object[m.Key] = value
	}
	return object, nil
}

// decode decodes a JSON value, bounding its numbers.
func decode(raw []byte) (any, error) {
	if raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	return bounded(value), nil
}

// bounded replaces numbers by ones of the same standing towards any schema that
// are cheap to compare: the validator makes fractions of them, and would spend
// minutes on one of a million digits. A whole number beyond 15 digits becomes
// ±1e18, one with a fraction 0.5.
func bounded(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = bounded(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = bounded(v[key])
		}
	case json.Number:
		return boundedNumber(v)
	}
	return value
}

func boundedNumber(n json.Number) json.Number {
	key := canonical.NumberKey(n.String())
	digits, power, scaled := strings.Cut(key, "e")
	if strings.HasPrefix(power, "-") {
		return "0.5"
	}
	if len(digits) < 17 && (!scaled || len(power) == 1) {
		return json.Number(key) // at most 16 digits, times at most 10^9
	}
	if strings.HasPrefix(digits, "-") {
		return "-1e18"
	}
	return "1e18"
}
