// Package rebuild makes the read model again from Temporal: after Postgres was
// restored from a backup that is older than Temporal, or lost what it held of
// runs. It compares every run's record with the run's workflow, stores what the
// workflow knows and Postgres does not, and reports what only an operator can
// decide. It overwrites no record that is ahead of its workflow.
//
// It may import activities, operations and records. Start at [Rebuilder.Run].
package rebuild
