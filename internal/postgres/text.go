package postgres

import (
	"strings"
	"unicode/utf8"
)

// MaxText is the longest id a text column takes, in bytes. An index entry holds
// up to five of them and must stay below 2,704 bytes.
const MaxText = 512

// ValidText reports whether s can be an id: valid UTF-8 without U+0000, of at
// most [MaxText] bytes. Postgres answers anything else with an error, which
// would make a caller's mistake look like ours. So whoever lets a caller's id
// in (a run id, a requestId, a name, a cursor's content) asks first: a look-up
// of such an id finds nothing, a write under it is invalid.
func ValidText(s string) bool {
	return len(s) <= MaxText && utf8.ValidString(s) && !strings.Contains(s, "\x00")
}
