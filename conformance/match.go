package conformance

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// What the model expects is JSON with these in the place of what only the server
// knows.
type (
	// anything is any value, also null.
	anything struct{}
	// aText is a string that is not blank.
	aText struct{}
	// aTime is an RFC 3339 time with an offset.
	aTime struct{}
	// either is one of several.
	either []any
	// perhaps is a key that may be missing or null, or else has this value.
	perhaps struct{ value any }
	// bag is a list in any order; key tells its elements apart.
	bag struct {
		key   string
		items []any
	}
)

// match says where got is not as wanted, or "". Objects have exactly the wanted
// keys.
func match(path string, want, got any) string {
	at := path
	if at == "" {
		at = "the value"
	}
	switch w := want.(type) {
	case anything:
		return ""
	case aText:
		if s, ok := got.(string); ok && strings.TrimSpace(s) != "" {
			return ""
		}
		return fmt.Sprintf("%s is %s, expected some text", at, short(got))
	case aTime:
		if s, ok := got.(string); ok {
			if _, err := time.Parse(time.RFC3339Nano, s); err == nil {
				return ""
			}
		}
		return fmt.Sprintf("%s is %s, expected a time", at, short(got))
	case perhaps:
		if got == nil {
			return ""
		}
		return match(path, w.value, got)
	case either:
		var first string
		for i, choice := range w {
			problem := match(path, choice, got)
			if problem == "" {
				return ""
			}
			if i == 0 {
				first = problem
			}
		}
		return first
	case bag:
		return matchBag(path, w, got)
	case map[string]any:
		return matchObject(path, w, got)
	case []any:
		list, ok := got.([]any)
		if !ok {
			return fmt.Sprintf("%s is %s, expected a list", at, short(got))
		}
		if len(list) != len(w) {
			return fmt.Sprintf("%s has %d elements, expected %d: %s", at, len(list), len(w), short(got))
		}
		for i := range w {
			if p := match(join(path, strconv.Itoa(i)), w[i], list[i]); p != "" {
				return p
			}
		}
		return ""
	}
	return difference(path, norm(want), got)
}

func matchObject(path string, want map[string]any, got any) string {
	at := path
	if at == "" {
		at = "the value"
	}
	object, ok := got.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s is %s, expected an object", at, short(got))
	}
	for _, k := range sortedKeys(want) {
		value, there := object[k]
		if _, optional := want[k].(perhaps); !there && !optional {
			return fmt.Sprintf("%s has no %s", at, k)
		}
		if p := match(join(path, k), want[k], value); p != "" {
			return p
		}
	}
	for _, k := range sortedKeys(object) {
		if _, ok := want[k]; !ok {
			return fmt.Sprintf("%s has %s, which should not be there: %s", at, k, short(object[k]))
		}
	}
	return ""
}

func matchBag(path string, want bag, got any) string {
	list, ok := got.([]any)
	if !ok {
		return fmt.Sprintf("%s is %s, expected a list", path, short(got))
	}
	byKey := map[string]any{}
	for _, x := range list {
		byKey[V{x}.Str(want.key)] = x
	}
	for _, item := range want.items {
		key := item.(map[string]any)[want.key].(string)
		x, ok := byKey[key]
		if !ok {
			return fmt.Sprintf("%s lacks the one with %s %s: %s", path, want.key, key, short(got))
		}
		if p := match(path+"["+key+"]", item, x); p != "" {
			return p
		}
	}
	if len(list) != len(want.items) {
		return fmt.Sprintf("%s has %d elements, expected %d: %s", path, len(list), len(want.items), short(got))
	}
	return ""
}

func short(x any) string {
	if n, ok := x.(json.Number); ok {
		return n.String()
	}
	return clip(string(mustEncode(x)), 300)
}

// expectation renders what is wanted, for messages.
func expectation(want any) any {
	switch w := want.(type) {
	case anything:
		return "<anything>"
	case aText:
		return "<text>"
	case aTime:
		return "<time>"
	case perhaps:
		return expectation(w.value)
	case either:
		return expectation(w[0])
	case bag:
		return expectation(w.items)
	case map[string]any:
		out := map[string]any{}
		for k, v := range w {
			if _, optional := v.(perhaps); !optional {
				out[k] = expectation(v)
			}
		}
		return out
	case []any:
		out := make([]any, len(w))
		for i := range w {
			out[i] = expectation(w[i])
		}
		return out
	}
	return want
}

// Match ends the check unless got is as wanted.
func (t *T) Match(what string, want any, got V) {
	if p := match("", want, got.X); p != "" {
		panic(failed{Failure{what + ": " + p, string(mustEncode(expectation(want))), got.String()}})
	}
}
