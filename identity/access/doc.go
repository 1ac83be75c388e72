// Package access has no code, only tests: what docs/identity.md promises of a
// running server. They walk its table of who may call what, drive two
// organizations against each other, and forge tokens.
package access
