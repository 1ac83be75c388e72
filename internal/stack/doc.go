// Package stack runs everything on one machine, for development: a private
// Postgres, the Temporal dev server, an authorization server to sign in at, and
// the server as a process of its own that is started again when it dies.
//
// Start at [Start]. devstack has the parts; this package puts them together.
package stack
