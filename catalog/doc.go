// Package catalog keeps processes: the draft that publishers edit, with the
// roles they bound, and the numbered versions that runs execute (spec §6).
//
// It may import internal/postgres and pgx. It stores what it is given: whether a
// source parses, and which roles need binding, is decided by whoever calls.
// Every query is of one organization. Orgs, names and subjects must satisfy
// postgres.ValidText.
//
// Start at [Publish].
package catalog
