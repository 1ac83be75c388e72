// Package identity says who is calling and who is known: callers and what they
// may decide, the tokens that prove them, and the directory of an
// organization's agents, people and groups.
//
// A [Caller] is all that the rest of the server sees. How it was proved is
// behind [Verifier]; another way to sign in is another Verifier. Who is known is
// a [Directory].
//
// The package may do file I/O and read the clock; it imports no transport,
// database or workflow package. HTTP lives in identity/bearer. Start at
// [Caller], then [Verifier] and [ParseDirectory].
package identity
