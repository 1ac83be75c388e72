// Package ledger remembers requests: which requestId was used for what, whether
// it is still under way, and what came of it (spec §3.7). It is what makes a
// write safe to send again.
//
// A request is reserved before its write is attempted, and done once the result
// is stored. In between it is pending, under the id of the attempt that may
// bring it about and until the moment after which that attempt can no longer.
//
// It may import internal/postgres and pgx. Every query is of one organization,
// except [Overdue]. Every org, requestId, tool, run id and attempt passed in
// must satisfy postgres.ValidText; callers' own values are checked before they
// get here.
//
// Start at [Reserve].
package ledger
