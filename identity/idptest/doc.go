// Package idptest is an identity provider for tests: a real HTTP server with a
// discovery document and keys that can be rotated, and a pen that signs any
// token, good or forged. It has no login; identity/devlogin has one.
//
// Only tests import it. Start at [Start] and [Provider.Sign].
package idptest
