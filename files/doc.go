// Package files keeps evidence: what was uploaded, the hash it had then, and
// whether the stored bytes still have it (spec §5).
//
// It may import internal/postgres and pgx. Every query is of one organization.
// Orgs, ids and subjects must satisfy postgres.ValidText.
//
// Start at [QueuePut]; [Verify] is what a submission asks.
package files
