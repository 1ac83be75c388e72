package httpapi

import (
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// safeTypes are the types that are passed on: none of them can carry a script
// that a browser would run.
var safeTypes = map[string]bool{
	"application/json": true,
	"application/pdf":  true,
	"application/zip":  true,
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": true,
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         true,
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   true,
	"audio/mpeg":    true,
	"image/gif":     true,
	"image/jpeg":    true,
	"image/png":     true,
	"image/webp":    true,
	"text/csv":      true,
	"text/markdown": true,
	"text/plain":    true,
	"video/mp4":     true,
}

const unknownType = "application/octet-stream"

// safeType is the content type to serve a file under, given what the uploader
// said. Parameters are dropped; a text that is UTF-8 is said to be.
func safeType(said string, content []byte) string {
	base, _, err := mime.ParseMediaType(said)
	switch {
	case err != nil || !safeTypes[base]:
		return unknownType
	case strings.HasPrefix(base, "text/") && utf8.Valid(content):
		return base + "; charset=utf-8"
	}
	return base
}

// attachment is a Content-Disposition that saves a file under a name (RFC 6266):
// once in plain ASCII, once as UTF-8 (RFC 8187) for all but the oldest clients.
func attachment(name string) string {
	name = safeName(name)
	plain := strings.Map(func(c rune) rune {
		if c > unicode.MaxASCII || c == '%' { // some clients decode a % here
			return '_'
		}
		return c
	}, name)
	return `attachment; filename="` + plain + `"; filename*=UTF-8''` + percentEncode(name)
}

// maxName bounds a file name, in bytes: what common file systems take, with
// room for the " (1)" of a second copy.
const maxName = 240

// safeName makes any text a file name: one path element, visible, not hidden,
// with nothing that a shell, a header or a file system reads otherwise.
func safeName(name string) string {
	name = strings.Map(func(c rune) rune {
		switch {
		case c == utf8.RuneError, strings.ContainsRune(`/\<>:"|?*`, c):
			return '_'
		case c == ' ' || unicode.IsGraphic(c) && !unicode.IsSpace(c):
			return c
		case unicode.IsSpace(c):
			return ' '
		}
		return -1 // controls, and marks that turn the direction of text
	}, strings.ToValidUTF8(name, "_"))
	name = strings.TrimLeft(name, " .")
	name = strings.TrimRight(name, " .")
	if name == "" {
		return "file"
	}
	if len(name) <= maxName {
		return name
	}
	ext := path.Ext(name)
	if len(ext) > 20 {
		ext = ""
	}
	return strings.TrimRight(cut(name, maxName-len(ext)), " .") + ext
}

// cut returns at most n bytes of s, in whole characters.
func cut(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// percentEncode escapes all but the attr-char of RFC 8187.
func percentEncode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("!#$&+-.^_`|~", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
