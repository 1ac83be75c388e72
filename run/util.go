package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// precision is what times are cut to on their way in. Postgres keeps
// microseconds and callers compare text, so nothing finer may be stored.
const precision = time.Millisecond

// cut makes a moment that is given one that can be written down.
func cut(t time.Time) time.Time { return writable(t.UTC().Truncate(precision)) }

// storable makes a moment one that can be waited for: not early, and writable.
func storable(t time.Time) time.Time {
	c := t.UTC().Truncate(precision)
	if c.Before(t) {
		c = c.Add(precision)
	}
	return writable(c)
}

// writable keeps a moment within the years that RFC 3339 has, and off the zero
// time, which means none.
func writable(t time.Time) time.Time {
	switch {
	case t.Year() > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	case t.Year() < 1 || t.IsZero():
		return time.Time{}.Add(precision)
	}
	return t
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// mustMarshal is for values whose raw parts were checked on their way in.
func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("run: marshal %T: %v", v, err))
	}
	return b
}
