package main

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// plain makes text that others wrote harmless on a terminal: it keeps line ends
// and tabs, and no other control.
func plain(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' || unicode.IsGraphic(c) {
			return c
		}
		return unicode.ReplacementChar
	}, s)
}

// oneLine is plain text on one line of at most n characters.
func oneLine(s string, n int) string {
	runes := []rune(plain(strings.Join(strings.Fields(s), " ")))
	if len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return string(runes)
}

// rolesLines lists what each role of a process is bound to.
func rolesLines(roles map[string]string) []string {
	var lines []string
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		group := roles[role]
		if group == "" {
			group = "not bound to a group yet"
		}
		lines = append(lines, plain("  "+role+": "+group))
	}
	return lines
}
