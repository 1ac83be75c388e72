// Package records is the read model of runs: the newest known record of each,
// and an index of what agents can claim and people can decide. What is true is
// the run itself; a record is what it last told.
//
// It may import internal/postgres, ledger and pgx. Every query is of one
// organization, except [Active]. Orgs, run ids, process names, keys and other
// ids passed in must satisfy postgres.ValidText; a caller's own values are
// checked before they get here.
//
// Start at [QueueApply], the only way in; [AgentWork] and [PersonWork] list
// work, [ListRuns] runs.
package records
