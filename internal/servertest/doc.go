// Package servertest runs the real server in tests: real Temporal, real
// Postgres, and MCP over HTTP on loopback.
//
// Start at [Start]. Packages that use it call testenv.Main from TestMain.
package servertest
