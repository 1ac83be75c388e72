package process

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// hidden puts back what hide replaced.
type hidden struct{ plain, quoted *strings.Replacer }

// restore returns the text that a scalar of this style has in the file.
func (h hidden) restore(s string, style yaml.Style) string {
	if style&yaml.DoubleQuotedStyle != 0 {
		return h.quoted.Replace(s)
	}
	return h.plain.Replace(s)
}

// hide replaces, one for one, characters that the YAML library reads as YAML 1.1
// did by characters that the text does not use:
//
//   - U+0085, U+2028 and U+2029, which are no line breaks in YAML 1.2;
//   - `?` within or at the edge of a word, as in `{ when: All clear? }`, which
//     the library takes for the mark of a key wherever a flow map or list is open;
//   - the escape `\/` of JSON, which it does not know.
func hide(s string) (string, hidden) {
	if !strings.ContainsAny(s, "?\\\u0085\u2028\u2029") {
		none := strings.NewReplacer()
		return s, hidden{none, none}
	}
	used := map[rune]bool{}
	for _, c := range s {
		used[c] = true
	}
	free := rune(0xe000)
	spare := func() rune {
		for used[free] {
			free++
		}
		free++
		return free - 1
	}
	nel, ls, ps, mark, back, slash := spare(), spare(), spare(), spare(), spare(), spare()
	runes := []rune(s)
	escaped := false // by a backslash just before
	for i, c := range runes {
		switch {
		case c == '\u0085':
			runes[i] = nel
		case c == '\u2028':
			runes[i] = ls
		case c == '\u2029':
			runes[i] = ps
		case c == '?' && (i > 0 && !delimits(runes[i-1]) || i+1 < len(runes) && !delimits(runes[i+1])):
			runes[i] = mark
		case c == '/' && escaped:
			runes[i-1], runes[i] = back, slash
		}
		escaped = c == '\\' && !escaped
	}
	put := []string{string(nel), "\u0085", string(ls), "\u2028", string(ps), "\u2029", string(mark), "?"}
	plain := append(put[:len(put):len(put)], string(back), "\\", string(slash), "/")
	quoted := append(put[:len(put):len(put)], string(back), "", string(slash), "/")
	return string(runes), hidden{strings.NewReplacer(plain...), strings.NewReplacer(quoted...)}
}

// delimits reports whether a character can stand beside the mark of a key.
func delimits(c rune) bool { return strings.ContainsRune(" \t\r\n,[]{}", c) }
