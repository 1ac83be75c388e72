// Package trust proves callers by the access tokens of an organization's own
// identity providers: signed JWTs of OAuth 2.1 (RFC 9068, and what providers
// issued before it).
//
// Which issuers are trusted, for which organization, and what their claims mean
// is a file: [ParseConfig]. [New] makes a verifier of it. What it decides, in
// the order it decides it, is in verifier.go (is the token genuine, and for us)
// and caller.go (who is it: a person only by a human client, an agent in every
// other case). docs/identity.md has the reasons.
//
// It imports identity, identity/jwks and go-jose.
package trust
