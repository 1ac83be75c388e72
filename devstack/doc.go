// Package devstack runs what an Agent Process server needs beside it, for
// development and for tests: a private PostgreSQL, the Temporal dev server,
// and child processes of our own binary that come back when they are killed.
//
// Everything listens on 127.0.0.1 only, on ports that are chosen freely when
// none is given or the given one is taken, so stacks in different directories
// run side by side. Children end with this process, even when it is killed
// with SIGKILL; a directory is used by one stack at a time (Lock).
//
// Start with StartStack, which puts a whole stack together, or with
// StartPostgres and StartTemporal, the servers alone. Process supervises a
// child server, WaitReady waits until it answers.
//
// The servers need the standard library, pgx and the Temporal SDK's client, to
// ask whether they are ready. Only stack.go may import packages of the server.
package devstack
