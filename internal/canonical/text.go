package canonical

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// plain holds the ASCII bytes that stand for themselves within a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

const (
	brokenUTF8     = "holds bytes that are not UTF-8"
	loneSurrogate  = "holds half of a surrogate pair"
	hexDigits      = "0123456789abcdef"
	maxPathSegment = 64 // code points of a key shown in a path
)

// str reads a string; with emit it appends the canonical form. What is no
// Unicode text is noted and becomes U+FFFD, as a decoder would have it.
func (s *scanner) str(emit, key bool) bool {
	s.pos++
	if emit {
		s.out = append(s.out, '"')
	}
	for {
		from := s.pos
		for s.pos < len(s.in) && plain[s.in[s.pos]] {
			s.pos++
		}
		if emit {
			s.out = append(s.out, s.in[from:s.pos]...)
		}
		if s.pos >= len(s.in) {
			return s.syntax("a closing quote")
		}
		var r rune
		switch c := s.in[s.pos]; {
		case c == '"':
			s.pos++
			if emit {
				s.out = append(s.out, '"')
			}
			return true
		case c == '\\':
			var ok bool
			if r, ok = s.escape(); !ok {
				return s.syntax("a valid escape")
			}
			if r < 0 {
				r = utf8.RuneError
				if !s.inText(loneSurrogate, key) {
					return false
				}
			}
		case c < 0x20:
			return s.syntax("an escape for the control character")
		default:
			var size int
			r, size = utf8.DecodeRune(s.in[s.pos:])
			s.pos += size
			if r == utf8.RuneError && size == 1 && !s.inText(brokenUTF8, key) {
				return false
			}
		}
		if emit {
			s.out = appendRune(s.out, r)
		}
	}
}

// inText notes a problem with the text of a string.
func (s *scanner) inText(text string, key bool) bool {
	if !key {
		return s.problem(text)
	}
	here := s.path
	s.path = here[:len(here)-1]
	more := s.problem("a key " + text)
	s.path = here
	return more
}

// escape reads one escape, or the two of a surrogate pair. It returns -1 for
// half a pair, and false, without moving, for no escape.
func (s *scanner) escape() (rune, bool) {
	in := s.in[s.pos:]
	if len(in) < 2 {
		return 0, false
	}
	r, size := rune(0), 2
	switch in[1] {
	case '"', '\\', '/':
		r = rune(in[1])
	case 'b':
		r = '\b'
	case 'f':
		r = '\f'
	case 'n':
		r = '\n'
	case 'r':
		r = '\r'
	case 't':
		r = '\t'
	case 'u':
		size = 6
		r = hex4(in)
		if r < 0 {
			return 0, false
		}
		if utf16.IsSurrogate(r) {
			pair := utf16.DecodeRune(r, hex4(in[6:]))
			if r = pair; pair == utf8.RuneError {
				r = -1
			} else {
				size = 12
			}
		}
	default:
		return 0, false
	}
	s.pos += size
	return r, true
}

// hex4 is the code unit of a `\uXXXX` at the start of in, or -1.
func hex4(in []byte) rune {
	if len(in) < 6 || in[0] != '\\' || in[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range in[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// appendRune appends the canonical text of one character: escaped only where
// JSON demands it.
func appendRune(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	if r < 0x20 {
		return append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&0xf])
	}
	return utf8.AppendRune(dst, r)
}

// unescape turns the inside of a canonical string back into its characters.
func unescape(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	s := scanner{in: text}
	plainText := make([]byte, 0, len(text))
	for s.pos < len(text) {
		if text[s.pos] != '\\' {
			plainText = append(plainText, text[s.pos])
			s.pos++
			continue
		}
		r, ok := s.escape()
		if !ok {
			return plainText // not canonical text; cannot happen
		}
		plainText = utf8.AppendRune(plainText, r)
	}
	return plainText
}

// where is the current path: `inputs.lines[2]["a key"]`.
func (s *scanner) where() string {
	var b strings.Builder
	for _, p := range s.path {
		if p.keyEnd == 0 {
			b.WriteString("[" + strconv.Itoa(p.index) + "]")
			continue
		}
		key := shorten(string(unescape(s.out[p.key+1 : p.keyEnd-1])))
		switch {
		case !isName(key):
			b.WriteString("[" + strconv.Quote(key) + "]")
		case b.Len() > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

func shorten(key string) string {
	n := 0
	for i := range key {
		if n == maxPathSegment {
			return key[:i] + "…"
		}
		n++
	}
	return key
}

// isName reports whether a key can stand in a path as it is.
func isName(key string) bool {
	for _, r := range key {
		if r <= ' ' || strings.ContainsRune(`.[]":`, r) || !strconv.IsPrint(r) {
			return false
		}
	}
	return key != ""
}
