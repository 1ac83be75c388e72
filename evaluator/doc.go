// Package evaluator has the questions of a check answered (check profile §2, §3):
// yes or no, a choice, a level, each in a call of its own that sees no other
// answer. What the answers mean is package run's to say.
//
// Start at [Ask]. [Evaluator] is what answers; evaluator/openai is the one there
// is. The package may import process, run and internal/canonical.
package evaluator
