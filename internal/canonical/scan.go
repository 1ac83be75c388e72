package canonical

import (
	"bytes"
	"fmt"
	"slices"
)

// mode is what a scanner is for.
type mode uint8

const (
	exact   mode = iota // write canonical JSON; stop at the first problem
	byValue             // the same, with numbers by value
	check               // write nothing; collect problems
)

// scanner reads one JSON text once and appends its canonical form to out. Its
// methods return false when scanning cannot go on; problems then says why.
type scanner struct {
	in       []byte
	pos      int
	out      []byte
	mode     mode
	maxDepth int
	problems []Problem

	members []member  // of all open objects, the innermost last
	path    []segment // where the scanner is
	spare   []byte    // for reordering

	split    bool     // keep the members of the outermost object
	top      []Member // those
	complete bool     // the whole text was read
}

// member is one member of an object: where it lies in out.
type member struct {
	key, keyEnd, end int
	escaped          bool // the key's text has a backslash
}

// segment is one step of a path: a key in out, or an index where keyEnd is 0.
type segment struct {
	key, keyEnd int
	index       int
}

// text reads a whole text.
func (s *scanner) text() bool {
	s.space()
	if !s.value() {
		return false
	}
	s.space()
	if s.pos < len(s.in) {
		return s.stop("data after the JSON value, at byte %d", s.pos)
	}
	s.complete = true
	return len(s.problems) == 0
}

func (s *scanner) value() bool {
	switch c := s.peek(); {
	case c == '"':
		return s.str(s.mode != check, false)
	case c == '{':
		return s.object()
	case c == '[':
		return s.array()
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	}
	return s.syntax("a value")
}

func (s *scanner) object() bool {
	if len(s.path) >= s.maxDepth {
		return s.stop("nested deeper than %d levels", s.maxDepth)
	}
	s.pos++
	start, base, sorted := len(s.out), len(s.members), true
	s.put('{')
	s.space()
	if s.peek() == '}' {
		s.pos++
		s.put('}')
		return true
	}
	s.path = append(s.path, segment{})
	for {
		if s.peek() != '"' {
			s.path = s.path[:len(s.path)-1]
			return s.syntax("a key")
		}
		m := member{key: len(s.out)}
		if !s.str(true, true) {
			return false
		}
		m.keyEnd = len(s.out)
		m.escaped = bytes.IndexByte(s.out[m.key:], '\\') >= 0
		s.path[len(s.path)-1] = segment{key: m.key, keyEnd: m.keyEnd}
		s.space()
		if s.peek() != ':' {
			return s.syntax("a colon")
		}
		s.pos++
		s.put(':')
		s.space()
		from := s.pos
		if !s.value() {
			return false
		}
		m.end = len(s.out)
		if s.split && len(s.path) == 1 {
			key := string(unescape(s.out[m.key+1 : m.keyEnd-1]))
			s.top = append(s.top, Member{Key: key, Value: s.in[from:s.pos:s.pos]})
		}
		if n := len(s.members); n > base && s.compare(s.members[n-1], m) >= 0 {
			sorted = false
		}
		s.members = append(s.members, m)
		s.space()
		c := s.peek()
		if c == '}' {
			break
		}
		if c != ',' {
			return s.syntax("a comma or a closing brace")
		}
		s.pos++
		s.put(',')
		s.space()
	}
	s.pos++
	s.put('}')
	ok := sorted || s.sort(start, base)
	s.path = s.path[:len(s.path)-1]
	s.members = s.members[:base]
	if s.mode == check {
		s.out = s.out[:start] // the keys have served
	}
	return ok
}

// sort brings the members from base on, of the object that begins at start,
// into order, and finds keys given twice.
func (s *scanner) sort(start, base int) bool {
	members := s.members[base:]
	slices.SortFunc(members, s.compare)
	for i := 1; i < len(members); i++ {
		m, before := members[i], members[i-1]
		if !bytes.Equal(s.out[m.key:m.keyEnd], s.out[before.key:before.keyEnd]) {
			continue
		}
		s.path[len(s.path)-1] = segment{key: m.key, keyEnd: m.keyEnd}
		if !s.problem("given more than once") {
			return false
		}
	}
	if s.mode == check {
		return true
	}
	s.spare = append(s.spare[:0], s.out[start:]...)
	s.out = append(s.out[:start], '{')
	for i, m := range members {
		if i > 0 {
			s.out = append(s.out, ',')
		}
		s.out = append(s.out, s.spare[m.key-start:m.end-start]...)
	}
	s.out = append(s.out, '}')
	return true
}

// compare orders members by the code points of their keys, which is the order
// of the UTF-8 bytes once nothing is escaped.
func (s *scanner) compare(a, b member) int {
	x, y := s.out[a.key+1:a.keyEnd-1], s.out[b.key+1:b.keyEnd-1]
	if a.escaped || b.escaped {
		x, y = unescape(x), unescape(y)
	}
	return bytes.Compare(x, y)
}

func (s *scanner) array() bool {
	if len(s.path) >= s.maxDepth {
		return s.stop("nested deeper than %d levels", s.maxDepth)
	}
	s.pos++
	s.put('[')
	s.space()
	if s.peek() == ']' {
		s.pos++
		s.put(']')
		return true
	}
	s.path = append(s.path, segment{})
	for {
		if !s.value() {
			return false
		}
		s.space()
		c := s.peek()
		if c == ']' {
			break
		}
		if c != ',' {
			return s.syntax("a comma or a closing bracket")
		}
		s.pos++
		s.put(',')
		s.space()
		s.path[len(s.path)-1].index++
	}
	s.pos++
	s.put(']')
	s.path = s.path[:len(s.path)-1]
	return true
}

func (s *scanner) literal(word string) bool {
	if !bytes.HasPrefix(s.in[s.pos:], []byte(word)) {
		return s.syntax("a value")
	}
	s.pos += len(word)
	if s.mode != check {
		s.out = append(s.out, word...)
	}
	return true
}

func (s *scanner) number() bool {
	n := numberLength(s.in[s.pos:])
	if n == 0 {
		return s.syntax("a number")
	}
	text := s.in[s.pos : s.pos+n]
	s.pos += n
	switch s.mode {
	case exact:
		s.out = append(s.out, text...)
	case byValue:
		s.out = appendNumberKey(s.out, text)
	}
	return true
}

// peek is the next byte, or 0 at the end; no rule of JSON begins with 0.
func (s *scanner) peek() byte {
	if s.pos < len(s.in) {
		return s.in[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.in) {
		switch s.in[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) put(c byte) {
	if s.mode != check {
		s.out = append(s.out, c)
	}
}

// problem notes a problem at the current path and reports whether to go on.
func (s *scanner) problem(text string) bool {
	s.problems = append(s.problems, Problem{Path: s.where(), Text: text})
	return s.mode == check && len(s.problems) < maxProblems
}

// stop notes a problem with the whole text and ends the scan.
func (s *scanner) stop(format string, args ...any) bool {
	s.problems = append(s.problems, Problem{Text: fmt.Sprintf(format, args...)})
	return false
}

func (s *scanner) syntax(wanted string) bool {
	if s.pos >= len(s.in) {
		return s.stop("not valid JSON: it ends where %s should be", wanted)
	}
	return s.stop("not valid JSON: expected %s at byte %d", wanted, s.pos)
}
