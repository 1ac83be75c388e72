// Package conformance tells whether a server keeps the rules of Agent Process
// `core-2`, whoever wrote the server.
//
// It is a client: it knows a URL, a few bearer tokens, and the specification. It
// talks MCP over Streamable HTTP and nothing else; where a publish command is
// given, it runs that. A check never uses knowledge of one server.
//
// What it is made of:
//
//   - a [Suite] is one session with one server; [Open] starts one, [Suite.Run]
//     runs checks and returns a [Report];
//   - a [Check] names its clause and does its calls through a [T], which records
//     them, so that a failure shows what to send to see it again;
//   - the model (model*.go) is a second opinion: it follows every run that a check
//     starts and predicts, from the text of the process alone, the whole run view
//     after each call. Whatever a server answers must be what the model says;
//   - the fixtures are processes written for the purpose. [Embedded] has ours.
//
// clauses.yaml lists the rules of the specification in our words, each with the
// checks that hold it or the reason why no client can see it; coverage.md is made
// from it.
//
// The package imports process (to know the shape of fixtures), schemas (the
// shapes of results), yaml.v3 and the standard library. Tests import the server,
// to be run against it. Start at suite.go, then check.go.
package conformance
