// Package operations is what the server does: the fourteen operations of the
// protocol, one file each, and the catalog's. They know who calls and what with,
// and nothing of how the call came in.
//
// Start at [Service.Call]. Reads go to Postgres and touch no worker. Every write
// to a run takes the one path of write.go.
//
// It may import anything but the transports (mcp, httpapi) and devstack.
package operations
