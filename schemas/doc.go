// Package schemas holds the JSON Schemas of core-2 as this server speaks it,
// and checks arguments and results against them.
//
// The schemas are files under core-2, JSON Schema draft 2020-12: the shapes that
// tools share (a run view, a work item, an evidence item) and, under tools, the
// arguments and the result of every tool. index.json lists them. They are
// written from the tool contracts; where a contract and a schema disagree, the
// schema is wrong. A server publishes them as they are, from FS, at
// `/schemas/core-2/`; their relative references work there too.
//
//   - Agents get InputSchema, OutputSchema, Title and Description, which stand on
//     their own: one per tool, without references to other documents.
//   - The edge of a server calls CheckArguments once per call and answers its
//     lines as the issues of `invalid`.
//   - Tests call CheckResult.
//
// What a schema cannot say stays out of it: which arguments go with which
// decision, what a step's output must hold, everything that needs a run. Where
// the contracts leave the caller a choice, a schema is as wide as they are; two
// bounds are this server's own reading. An event's name must look like a step
// id, for no other name can ever be waited for (spec §3.6); and a summary may be
// empty here, because that is a fault of the work and not of the call.
//
// Limits on text count code points. An integer may be written 20.0 or 2e1.
//
// The package does no I/O and imports the standard library, a JSON Schema
// validator and internal/canonical. Start at schemas.go; the wording of problems
// is in wording.go, the texts for agents are in tools.go.
package schemas
