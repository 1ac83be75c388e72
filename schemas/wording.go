package schemas

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// whole stands for the arguments as such where a path would be empty.
const whole = "arguments"

// appendProblems puts the leaves of a validation error into words.
func appendProblems(lines []string, tool string, e *jsonschema.ValidationError) []string {
	for _, cause := range e.Causes {
		lines = appendProblems(lines, tool, cause)
	}
	if len(e.Causes) > 0 {
		return lines
	}
	at := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			lines = append(lines, where(at, name)+": missing")
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			line := where(at, name) + ": not an argument of " + tool
			if len(at) > 0 {
				line = where(at, name) + ": not a field of " + where(at)
			}
			lines = append(lines, line)
		}
	default:
		lines = append(lines, where(at)+": "+words(k))
	}
	return lines
}

// words says what one keyword demands. The tests hold it complete for the
// keywords that arguments use.
func words(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be " + typeNames[k.Want[0]]
	case *kind.Enum:
		values := make([]string, len(k.Want))
		for i, v := range k.Want {
			values[i] = fmt.Sprint(v)
		}
		return "must be one of " + strings.Join(values, ", ")
	case *kind.Minimum:
		return "must be at least " + number(k.Want)
	case *kind.Maximum:
		return "must be at most " + number(k.Want)
	case *kind.MinLength:
		if k.Want == 1 {
			return "must not be empty"
		}
		return fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.Pattern:
		return "must match " + k.Want
	}
	return "not allowed by the schema"
}

func number(r *big.Rat) string { return r.RatString() }

// typeNames are the types of JSON with their articles.
var typeNames = map[string]string{
	"array": "a list", "boolean": "true or false", "integer": "a whole number", "null": "null",
	"number": "a number", "object": "an object", "string": "a string",
}

// maxName bounds what a caller's own key takes of an answer, in bytes.
const maxName = 100

// where writes a location as `evidence[0].ref`. Only lists have numbers in the
// locations that arguments can have.
func where(at []string, more ...string) string {
	var b strings.Builder
	for _, segment := range append(at[:len(at):len(at)], more...) {
		if _, err := strconv.Atoi(segment); err == nil && b.Len() > 0 {
			b.WriteString("[" + segment + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		if len(segment) > maxName {
			segment = strings.ToValidUTF8(segment[:maxName], "") + "…"
		}
		b.WriteString(segment)
	}
	if b.Len() == 0 {
		return whole
	}
	return b.String()
}
