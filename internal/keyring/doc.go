// Package keyring holds the secrets the server signs with: HMAC-SHA256 keys by
// id, of which one signs and all verify, and fixed secrets that never rotate.
//
// Rotation is an edit of the configuration: put a new key in front, keep the
// old one behind it for as long as what it signed may come back, then remove
// it. A removed key neither verifies nor signs.
//
// It imports the standard library and internal/secretfile, and knows nothing of
// what is signed: each use names a purpose, and a signature made for one
// purpose never verifies for another. Start at [Parse] and [Ring].
package keyring
