package canonical

import (
	"errors"
	"fmt"
)

const (
	// MaxDepth is how many levels of arrays and objects JSON and ValueKey follow.
	MaxDepth = 1000
	// StrictDepth is how many levels a caller's JSON may have.
	StrictDepth = 200
	// maxProblems bounds the answer to a text that is wrong everywhere.
	maxProblems = 50
)

// ErrInvalid is what every error of JSON and ValueKey wraps: the text is not
// one JSON value, is nested deeper than MaxDepth, or has no single meaning
// (a key given twice, broken UTF-8, half of a surrogate pair).
var ErrInvalid = errors.New("invalid JSON")

// JSON returns the canonical form of a JSON text: keys sorted by code point, no
// white space, strings with the fewest escapes, and number texts unchanged, so
// `1.0` and `1` differ. The result is itself canonical. Errors wrap ErrInvalid.
//
// Time is linear in the text, times the depth where keys are not yet sorted.
func JSON(raw []byte) ([]byte, error) {
	return run(raw, exact)
}

// ValueKey returns a form that two JSON texts share exactly when their values
// are equal: as JSON, with every number replaced by its NumberKey. Errors wrap
// ErrInvalid.
func ValueKey(raw []byte) (string, error) {
	out, err := run(raw, byValue)
	return string(out), err
}

func run(raw []byte, m mode) ([]byte, error) {
	s := scanner{in: raw, mode: m, maxDepth: MaxDepth, out: make([]byte, 0, len(raw))}
	if !s.text() {
		return nil, fmt.Errorf("%w: %s", ErrInvalid, s.problems[0])
	}
	return s.out, nil
}

// Problem is one thing wrong with a JSON text.
type Problem struct {
	// Path leads to the value, such as `evidence[0].ref`; empty for the whole
	// text. Long keys are cut.
	Path string
	Text string
}

// String is the problem in one line.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Text
	}
	return p.Path + ": " + p.Text
}

// Problems lists what a decoder would reject, hide or change in a text: keys
// given twice at any level, invalid UTF-8, half surrogate pairs, more than
// StrictDepth levels, data after the value, or no JSON at all. It lists at most
// fifty, and nil for a text that is fine; JSON and ValueKey accept every such
// text.
func Problems(raw []byte) []Problem {
	s := scanner{in: raw, mode: check, maxDepth: StrictDepth}
	s.text()
	return s.problems
}

// Member is one member of an object: its key, and its value as it was written.
type Member struct {
	Key   string
	Value []byte
}

// Members is Problems for a text that should be an object, which it also takes
// apart. The members are in the order of the text, a key given twice included;
// the values are parts of raw. complete tells that the whole text was read: what
// problems there are, it is JSON. A text that is no object has no members.
func Members(raw []byte) (members []Member, problems []Problem, complete bool) {
	s := scanner{in: raw, mode: check, maxDepth: StrictDepth, split: true}
	s.text()
	return s.top, s.problems, s.complete
}

// Strict is Problems in one line each.
func Strict(raw []byte) []string {
	problems := Problems(raw)
	if problems == nil {
		return nil
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return lines
}
