// Package bearer takes callers from HTTP requests: it reads the bearer
// credential (RFC 6750), has an identity.Verifier prove it, and hands the caller
// on in the request's context.
//
// It imports net/http and identity, and knows no kind of credential. Start at
// [Middleware] and [From].
package bearer
