// Package guard stands between the transports and the use cases: it bounds how
// often a caller may call, and has every write, and every refusal for reasons of
// identity, logged (identity/audit).
//
// It offers what it wraps: the tools' Call, and the catalog's methods. Start at
// [New].
package guard
