// Package jwks has the public keys of a token issuer at hand: found through the
// issuer's discovery document (OpenID Connect Discovery, RFC 8414), fetched when
// they are needed, kept for a while, and fetched again when they get old or a
// token names a key that is not among them.
//
// What it adds to a key set of a library is time: a key that the issuer
// withdrew stops working within [Set]'s freshness and not only when some other
// key turns up; and neither tokens with invented key ids nor an issuer that is
// down cause more than a bounded number of requests.
//
// It imports net/http and go-jose. Start at [New] and [Set.Key].
package jwks
