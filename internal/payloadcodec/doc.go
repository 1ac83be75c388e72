// Package payloadcodec encrypts what a run leaves in Temporal's history, and
// serves the endpoint through which the Temporal UI and CLI show it in clear to
// operators.
//
// With a codec in the options of every client, arguments and results, memos,
// summaries, details and the messages of failures are AES-256-GCM ciphertext
// to Temporal. Not covered, because Temporal itself reads them: workflow ids,
// the names of workflows, updates and activities, search attributes, times, and
// the length of each payload.
//
// Rotation is an edit of the configuration: give every process the new key
// behind the old one, then put it in front, and remove the old one when no
// history that it encrypted is left to read (running or within retention).
// A random nonce is safe for 2^32 payloads under one key; put a new key in front
// well before.
//
// It protects content, not the history as such: whoever may write to the
// namespace can still leave out, repeat or move payloads, or put plain ones
// there. A payload is not bound to its workflow, for the codec endpoint is not
// told which workflow a payload is from.
//
// It imports Temporal's converters, net/http, identity and identity/bearer.
// Start at [ParseKeys], [New] and [Handler].
package payloadcodec
