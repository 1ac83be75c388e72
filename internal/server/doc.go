// Package server is the composition of the real server: Temporal client and
// worker, Postgres, the operations, and the HTTP front ends. It decides
// nothing; it connects what the other packages offer.
//
// Start at [New]. It may import everything but devstack and the commands.
package server
