// Package audit keeps the log of who did what: every write, and every call that
// was refused because of who made it. The log only grows; the database refuses
// to change or delete a row.
//
// The row of a write is stored in the transaction that stores the write's result
// ([With] and [Queue]), so that neither is there without the other. What the
// rows hold are ids and codes: no arguments, no run data, no tokens.
//
// It imports identity, internal/postgres and pgx. Start at [Entry].
package audit
