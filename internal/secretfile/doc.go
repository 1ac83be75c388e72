// Package secretfile writes secrets to disk once: a file that is already there
// is never replaced, and a file that appears is complete and readable by its
// owner only.
//
// It imports the standard library alone. Start at [Ensure].
package secretfile
