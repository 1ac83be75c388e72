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

func cut(t time.Time) time.Time { return t.UTC().Truncate(precision) }

// storable makes a moment one that can be waited for and written down: never
// early, and within the years that RFC 3339 has.
func storable(t time.Time) time.Time {
	c := cut(t)
	if c.Before(t) {
		c = c.Add(precision)
	}
	switch {
	case c.Year() > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	case c.Year() < 1:
		return time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Add(precision)
	}
	return c
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
