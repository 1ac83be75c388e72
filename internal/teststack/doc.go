// Command teststack runs a command beside a PostgreSQL and a Temporal server
// that are made for it and thrown away after it:
//
//	go run ./internal/teststack -- go test ./...
//
// Without it each package's tests start servers of their own (package testenv).
// It exits with the code of the command.
//
// It may import devstack and nothing else of the server.
package main
