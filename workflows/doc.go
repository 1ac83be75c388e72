// Package workflows is the Temporal side of a run: one workflow a run, one
// update a write, one timer for the next deadline. It is an adapter. It
// decodes, asks package run, arms the timer and returns; no rule of the
// protocol lives here.
//
// Start at [ProcessRun]. It may import process, run and the Temporal SDK;
// activities are called by name.
//
// What is written here is replayed for as long as a run lives. A change to the
// order or kind of the commands it makes goes through workflow.GetVersion.
package workflows
