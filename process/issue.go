package process

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Issue is one rule that a PROCESS.md breaks. The message says what to change.
// Line and Col count from 1, Col in characters; both are 0 where the position
// is not known, as for a process that was read from JSON.
type Issue struct {
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	Message string `json:"message"`
}

// String is `line:col: message`.
func (i Issue) String() string { return fmt.Sprintf("%d:%d: %s", i.Line, i.Col, i.Message) }

// Issues are all issues of a file, sorted by line, then column. It is an error
// when it is not empty; take care to compare its length, not the interface.
type Issues []Issue

// Error lists the issues, one a line.
func (is Issues) Error() string { return strings.Join(is.Strings(), "\n") }

// Strings returns each issue as `line:col: message`.
func (is Issues) Strings() []string {
	out := make([]string, len(is))
	for n, i := range is {
		out[n] = i.String()
	}
	return out
}

// sorted orders the issues and drops repetitions, which an alias used twice
// makes of one mistake.
func (is Issues) sorted() Issues {
	slices.SortStableFunc(is, func(a, b Issue) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	seen := make(map[Issue]bool, len(is))
	return slices.DeleteFunc(is, func(i Issue) bool {
		if seen[i] {
			return true
		}
		seen[i] = true
		return false
	})
}

// at is a position in the file.
type at struct{ line, col int }

// report collects issues while a file is read.
type report struct {
	issues Issues
	// broken are the places of scalars that have no value: once that is said,
	// what else such a place breaks is noise.
	broken map[at]bool
}

func (r *report) add(p at, format string, args ...any) {
	if r.broken[p] {
		return
	}
	r.issues = append(r.issues, Issue{Line: p.line, Col: p.col, Message: fmt.Sprintf(format, args...)})
}

// spoil reports a scalar that has no value.
func (r *report) spoil(p at, format string, args ...any) {
	r.add(p, format, args...)
	if r.broken == nil {
		r.broken = map[at]bool{}
	}
	r.broken[p] = true
}

// quote shows a text of the author in a message, cut short so that a message
// stays readable.
func quote(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
