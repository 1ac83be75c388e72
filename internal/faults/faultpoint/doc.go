// Package faultpoint names the moments at which a server that dies leaves the
// most behind, so that the fault harness can end it exactly there.
//
// [Here] does nothing, and is compiled away, unless the binary is built with
// the tag faultpoints. It imports the standard library alone.
package faultpoint

// The points.
const (
	// Reserved: the request is reserved, the run does not know of it.
	Reserved = "reserved"
	// Updated: the run has carried the write out, Postgres does not know of it.
	Updated = "updated"
	// Applied: record and result are stored, the caller does not know of it.
	Applied = "applied"
	// Projected: an activity has stored the record, the run does not know of it.
	Projected = "projected"
	// ProjectedLast: the same for a run that is over, before its workflow closes.
	ProjectedLast = "projected-last"
	// Checking: the evaluator has answered, the run does not know of it.
	Checking = "checking"
	// Continuing: the workflow is about to continue as new.
	Continuing = "continuing"
)

// Migrating is, with the number of a migration behind it, a point of the command
// migrate: the migration has changed all it changes, and is not committed.
const Migrating = "migrating-"

// All are the points of a server, in the order of a write's way.
var All = []string{Reserved, Updated, Applied, Projected, ProjectedLast, Checking, Continuing}

// DirVariable names the folder that arms points: a process of the faultpoints
// build that comes by a point removes the file of its name there, and dies if
// there was one. So one file ends one process.
const DirVariable = "AGENTPROCESS_FAULTPOINTS"

// Died is what such a process writes to its standard error, before the name.
const Died = "faultpoint reached: "
