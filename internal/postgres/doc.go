// Package postgres is what the packages that store things share: the pool of
// connections, the schema's migrations, and the rules for text.
//
// It may import pgx and goose, and nothing else of this module but the empty
// package faultpoint. The queries
// live with their tables: runs and work in records, requests in ledger, drafts
// and versions in catalog, uploads in files.
//
// Start at [Open]; the tables are described in migrations/.
//
// All statements rely on Postgres' default isolation, READ COMMITTED: a batch
// reads, in each of its statements, what others committed before it.
package postgres
