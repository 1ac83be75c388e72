// Package process is the format: it reads a PROCESS.md, refuses whatever breaks
// a rule of spec §2 (and of the parallel and check profiles), and answers what
// the rest of a server asks about a process.
//
// Start at [Parse]. It returns either a typed [Process] or every [Issue] of the
// file, each with its line and column. A Process marshals to JSON and back
// without loss, apart from the positions in the file; that JSON is what a run
// carries for life.
//
// Run inputs and step outputs are checked by [Fields.Check]. A publisher asks
// [Process.Missing] for what the process needs and a server does not offer, and
// [Process.Roles] for what has to be bound. [Process.Mermaid] draws the map.
//
// # Where the specification leaves room
//
//   - The fences: the first line is `---`, and so is the line that closes the
//     frontmatter; spaces, tabs and a carriage return may follow the dashes.
//     The body begins after the newline of the closing fence, byte for byte.
//     The whole file is UTF-8 without a byte order mark.
//   - A role name is 1 to 64 visible characters without white space, `.` or `=`.
//   - The outcome of a finish is one line of 1 to 64 visible characters, without
//     white space at its ends.
//   - A field name is not blank and holds no control characters. It may hold
//     dots: in a path everything after `inputs.` or `output.` is the field name.
//   - A person is an email address in plain ASCII; see [WellFormedPerson].
//   - A duration is at least one minute and at most 1,000,000 days.
//   - `on_timeout` needs `timeout`, as it could never be taken without.
//   - A step that only a rejection leads to counts as reachable.
//   - A value is listed once in `one_of`, `evidence`, `systems` and a `next` list.
//   - A choice question names at least one answer that passes.
//   - Numbers in the frontmatter must be finite doubles, because the content
//     hash (RFC 8785) has no other numbers.
//   - The frontmatter is at most [MaxFrontmatter] bytes and [MaxDepth] levels deep,
//     and aliases may not make it larger than [MaxExpanded] bytes.
//
// The package is pure: it reads no file, no clock, no network. It may import
// the standard library, yaml.v3 (for nodes only: scalars are resolved here, by
// the core schema of YAML 1.2) and the RFC 8785 canonicalizer.
package process
