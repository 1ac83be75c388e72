// Package run is one run of a process as a pure state machine: every rule of
// spec §3 and §6 and of the parallel profile, and nothing else. It does no
// I/O, reads no clock and draws no random number; time, identity and facts
// about the outside world come in as arguments.
//
// Start at [New], which begins a run, [Run.Check], which says what would be
// refused, and [Run.Execute], which carries a write out. [Run.Advance] applies
// the deadlines that have passed; every read and write does so first, so a
// lease that has ended is ended for whoever looks. What happens to steps is in
// flow.go, where they lead in layout.go. [Run.View] and its
// siblings give the shapes of the tool contracts.
//
// It may import process, internal/canonical and the standard library.
package run
