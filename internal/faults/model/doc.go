// Package model says whether the writes to one run, as their concurrent callers
// saw them, can have been carried out one after the other: whether the history
// is linearizable with package run as the specification.
//
// Time is part of it. A write that shows when it was carried out is carried out
// at that moment; any other at the earliest moment of its call at which the run
// answers as it did. Two things are looser than equality. The view in an answer
// may be of a later moment than the write (the record as it was when somebody
// stored the result), so what is compared is the outcome, and at the end the whole
// view. And it leaves out what a refusal changes, the handoff.
//
// It imports run, process and porcupine. Start at [Check].
package model
