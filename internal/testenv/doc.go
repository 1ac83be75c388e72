// Package testenv gives tests the real things they run against: a database of
// their own, migrated, in a PostgreSQL that is there or is started for the
// occasion.
//
// Only tests import it. It may import devstack and internal/postgres.
//
// Start at [Postgres], and let the package's TestMain call [Main].
package testenv
