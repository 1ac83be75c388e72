// Package canonical gives JSON texts one form, so that they can be hashed and
// compared, and finds in a caller's JSON what a decoder would silently change.
//
// JSON is the form that is hashed (snapshots, request digests): sorted keys, no
// white space, one way to write a string, every number as it was written.
// ValueKey is the form that is compared: as JSON, but numbers of equal value
// are equal. Strict reports what must be refused at the door; Members does so and
// takes the object apart in the same pass.
//
// RFC 8785 is not used here, because it turns numbers into doubles; it serves
// the content hash of a process only.
//
// The package is pure: no I/O, no clock, no randomness. It imports the standard
// library alone. Start at canonical.go; the scanner is in scan.go.
package canonical
