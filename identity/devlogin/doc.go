// Package devlogin is a small authorization server for development, on a kept
// OpenID provider library (zitadel/oidc): so that a newcomer's MCP client, which
// knows nothing but the server's address, registers itself, opens a browser, and
// is connected.
//
// It has no passwords: whoever reaches it is anybody of the directory. It is for
// loopback, and no part of `agentprocess server`; a test holds that line.
//
// What it offers: authorization code with PKCE and nothing less, refresh tokens,
// client credentials for the directory's agents, dynamic client registration
// (RFC 7591), client id metadata documents, protected by a page to sign in at.
// All state is in memory but the ids of registered clients, which hold what was
// registered, so that they live through a restart.
//
// Start at [New]. provider.go is the HTTP side; storage.go and tokens.go are
// what the library asks for; clients.go is who may ask.
package devlogin
