// Package runtoken makes and reads what stands for a run outside the server:
// the token a claim returns (spec §3.3) and the id of a run.
//
// Neither is stored as a secret. The same claim signed with the same key gives
// the same token, so a replay can sign it again; the same request gives the
// same run id, so a retried start finds the run it made.
//
// It imports internal/keyring and the standard library, and decides nothing:
// whether a claim number is still the current one is for package run. Start at
// [Mint] and [Parse].
package runtoken
