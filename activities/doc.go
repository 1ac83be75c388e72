// Package activities is what a run's workflow needs from outside: its record
// stored, news delivered, and what was left behind settled. Every activity may
// run again after it succeeded, and says the same then.
//
// Start at [Activities]. It may import operations, the stores and notify.
package activities
