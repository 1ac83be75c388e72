package process

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// shape is what a node is; the JSON data model, to which the core schema of
// YAML is reduced.
type shape uint8

const (
	nullNode shape = iota
	boolNode
	numberNode
	stringNode
	listNode
	mapNode
)

// String names the shape for a message: "expected text, not a number".
func (s shape) String() string {
	return [...]string{"nothing", "true or false", "a number", "text", "a list", "a map"}[s]
}

// node is one value, of a frontmatter or of JSON, with order and number text kept.
type node struct {
	shape shape
	at    at
	// text is the string, the JSON text of the number, or "true" and "false".
	text  string
	items []*node
	pairs []pair
	// lossy says that an entry was reported and left out of pairs.
	lossy bool
}

// pair is one entry of a map.
type pair struct {
	key   string
	at    at
	value *node
}

// get returns the value of a key, or nil.
func (n *node) get(key string) *node {
	for i := range n.pairs {
		if n.pairs[i].key == key {
			return n.pairs[i].value
		}
	}
	return nil
}

// json writes the node as JSON: keys in order, number text as it is, and no
// escaping beyond what JSON needs.
func (n *node) json() json.RawMessage { return n.appendJSON(nil) }

func (n *node) appendJSON(b []byte) []byte {
	switch n.shape {
	case nullNode:
		return append(b, "null"...)
	case boolNode, numberNode:
		return append(b, n.text...)
	case stringNode:
		return appendString(b, n.text)
	case listNode:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	default:
		b = append(b, '{')
		for i := range n.pairs {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, n.pairs[i].key), ':')
			b = n.pairs[i].value.appendJSON(b)
		}
		return append(b, '}')
	}
}

func appendString(b []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return strconv.AppendQuote(b, s) // cannot happen: a string always encodes
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// parseJSON reads one JSON value. A key given twice in one object is an error,
// because readers disagree on which of the two counts; it is reported through
// repeated, with the path of the key, and the first one is kept.
func parseJSON(raw []byte, repeated func(path string)) (*node, error) {
	// Valid also bounds the depth, so that the recursion below is safe.
	if !json.Valid(raw) {
		return nil, fmt.Errorf("not valid JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return readJSON(dec, "", repeated)
}

func readJSON(dec *json.Decoder, path string, repeated func(string)) (*node, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case bool:
		return &node{shape: boolNode, text: strconv.FormatBool(t)}, nil
	case json.Number:
		return &node{shape: numberNode, text: t.String()}, nil
	case string:
		return &node{shape: stringNode, text: t}, nil
	case json.Delim:
		if t == '[' {
			return readList(dec, path, repeated)
		}
		return readMap(dec, path, repeated)
	}
	return &node{shape: nullNode}, nil
}

func readList(dec *json.Decoder, path string, repeated func(string)) (*node, error) {
	n := &node{shape: listNode}
	for dec.More() {
		item, err := readJSON(dec, path+"["+strconv.Itoa(len(n.items))+"]", repeated)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := dec.Token()
	return n, err
}

func readMap(dec *json.Decoder, path string, repeated func(string)) (*node, error) {
	n := &node{shape: mapNode}
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := tok.(string)
		inner := path + "." + key
		value, err := readJSON(dec, inner, repeated)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			repeated(inner)
			continue
		}
		seen[key] = true
		n.pairs = append(n.pairs, pair{key: key, value: value})
	}
	_, err := dec.Token()
	return n, err
}
