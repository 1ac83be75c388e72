package process

import (
	"bytes"
	"unicode/utf8"
)

// split finds the frontmatter between its two fences and the body behind them.
// The frontmatter begins on line 2. ok is false when there is no frontmatter to read.
func (r *report) split(src []byte) (front, body []byte, ok bool) {
	if rest, found := bytes.CutPrefix(src, []byte("\ufeff")); found {
		r.add(at{1, 1}, "remove the byte order mark: the file must begin with ---")
		src = rest
	}
	if p, bad := firstInvalid(src); bad {
		r.add(p, "the file is not UTF-8 here; save it as UTF-8")
	}
	first, rest, _ := bytes.Cut(src, []byte("\n"))
	if !isFence(first) {
		r.add(at{1, 1}, "the first line must be --- and open the frontmatter")
		return nil, nil, false
	}
	for from, line := 0, 2; ; line++ {
		text, _, more := bytes.Cut(rest[from:], []byte("\n"))
		if isFence(text) {
			front, body = rest[:from], rest[min(from+len(text)+1, len(rest)):]
			return front, body, utf8.Valid(front)
		}
		if !more {
			r.add(at{1, 1}, "the frontmatter is not closed; end it with a line that is only ---")
			return nil, nil, false
		}
		from += len(text) + 1
	}
}

func isFence(line []byte) bool { return string(bytes.TrimRight(line, " \t\r")) == "---" }

// firstInvalid finds the first byte that is not UTF-8.
func firstInvalid(src []byte) (at, bool) {
	if utf8.Valid(src) {
		return at{}, false
	}
	p := at{1, 1}
	for len(src) > 0 {
		c, size := utf8.DecodeRune(src)
		if c == utf8.RuneError && size == 1 {
			break
		}
		if p.col++; c == '\n' {
			p = at{p.line + 1, 1}
		}
		src = src[size:]
	}
	return p, true
}
