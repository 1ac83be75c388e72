// Command agentprocess is the whole of it: a server for processes written as
// PROCESS.md files, and the tools of those who write, publish and run them.
//
// A command is a file that defines a function `newXCommand`, listed in `commands`
// in main.go. It exits 0 when it did what was asked, 1 when it did not, and 2
// when it was called wrongly. What it was asked for goes to standard output, what
// went wrong to standard error.
//
// It may import everything. Start at main.go; the commands that talk to a server
// do so through client.go.
package main
