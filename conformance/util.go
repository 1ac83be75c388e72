package conformance

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
)

func sorted[T cmp.Ordered](s []T) []T { slices.Sort(s); return s }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// newID is a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// with is args with more.
func with(args Args, more Args) Args {
	out := maps.Clone(args)
	if out == nil {
		out = Args{}
	}
	maps.Copy(out, more)
	return out
}

// without is args without some.
func without(args Args, keys ...string) Args {
	out := maps.Clone(args)
	for _, k := range keys {
		delete(out, k)
	}
	return out
}
