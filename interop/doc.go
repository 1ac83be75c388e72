// Package interop holds tests only: clients and tools that others have made work
// against the real server.
//
//   - both makes of the official TypeScript SDK work a step from start to end
//     (works-a-step.mjs);
//   - the command line of the MCP Inspector works one;
//   - the official MCP conformance suite passes, but for what a server of these
//     tools does not have.
//
// They need node (20 or newer) and npm, and are skipped without. The first run gets the
// packages that package-lock.json pins (`npm ci`); to take newer ones, change
// the versions in package.json and run `npm install` in this folder.
//
// It may import internal/servertest and schemas, in tests. Start at start in
// interop_test.go.
package interop
