package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Args are the arguments of a call.
type Args = map[string]any

// V is a JSON value that came from a server. Numbers are json.Number.
type V struct{ X any }

func parse(raw []byte) (V, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return V{}, err
	}
	return V{x}, nil
}

// mustEncode encodes what is known to be JSON.
func mustEncode(x any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(x); err != nil {
		panic(err) // arguments are built by checks, of encodable values
	}
	return bytes.TrimSpace(b.Bytes())
}

// norm is x as it looks after a trip over the wire.
func norm(x any) any {
	v, err := parse(mustEncode(x))
	if err != nil {
		panic(err)
	}
	return v.X
}

// At follows a path such as `run.state` or `workItems.0.id`. What is not there is
// the zero V, which is null.
func (v V) At(path string) V {
	x := v.X
	for _, part := range strings.Split(path, ".") {
		switch c := x.(type) {
		case map[string]any:
			x = c[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(c) {
				return V{}
			}
			x = c[i]
		default:
			return V{}
		}
	}
	return V{x}
}

// Str is the string at a path, or "".
func (v V) Str(path string) string {
	s, _ := v.At(path).X.(string)
	return s
}

// Int is the whole number at a path, or -1.
func (v V) Int(path string) int64 {
	n, _ := v.At(path).X.(json.Number)
	if i, err := n.Int64(); err == nil {
		return i
	}
	if r, ok := rational(n); ok && r.IsInt() && r.Num().IsInt64() {
		return r.Num().Int64()
	}
	return -1
}

// List is the list at a path, or nil.
func (v V) List(path string) []V {
	list, _ := v.At(path).X.([]any)
	out := make([]V, len(list))
	for i, x := range list {
		out[i] = V{x}
	}
	return out
}

// Strs are the strings of the list at a path.
func (v V) Strs(path string) []string {
	var out []string
	for _, e := range v.List(path) {
		if s, ok := e.X.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Has tells whether an object has a key at a path.
func (v V) Has(path, key string) bool {
	at := v
	if path != "" {
		at = v.At(path)
	}
	m, _ := at.X.(map[string]any)
	_, ok := m[key]
	return ok
}

func (v V) String() string { return string(mustEncode(v.X)) }

// rational is the exact value of a number; false beyond any use.
func rational(n json.Number) (*big.Rat, bool) {
	s := n.String()
	if _, exp, ok := strings.Cut(strings.ToLower(s), "e"); ok {
		if e, err := strconv.Atoi(strings.TrimPrefix(exp, "+")); err != nil || e > 10000 || e < -10000 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(s)
}

// difference says where b, what came, is not a, what was expected; "" when it is.
// Objects have no order, and numbers are compared by their exact value.
func difference(path string, a, b any) string {
	at := path
	if at == "" {
		at = "the value"
	}
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		for _, k := range sortedKeys(x) {
			if _, ok := y[k]; !ok {
				return fmt.Sprintf("%s.%s is missing", at, k)
			}
			if d := difference(join(path, k), x[k], y[k]); d != "" {
				return d
			}
		}
		for _, k := range sortedKeys(y) {
			if _, ok := x[k]; !ok {
				return fmt.Sprintf("%s.%s should not be there", at, k)
			}
		}
		return ""
	case []any:
		y, ok := b.([]any)
		if !ok {
			break
		}
		if len(x) != len(y) {
			return fmt.Sprintf("%s has %d elements, expected %d", at, len(y), len(x))
		}
		for i := range x {
			if d := difference(join(path, strconv.Itoa(i)), x[i], y[i]); d != "" {
				return d
			}
		}
		return ""
	case json.Number:
		y, ok := b.(json.Number)
		if !ok {
			break
		}
		if x == y {
			return ""
		}
		p, ok1 := rational(x)
		q, ok2 := rational(y)
		if ok1 && ok2 && p.Cmp(q) == 0 {
			return ""
		}
	default:
		if a == b {
			return ""
		}
	}
	return fmt.Sprintf("%s is %s, expected %s", at, clip(string(mustEncode(b)), 300), clip(string(mustEncode(a)), 300))
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
