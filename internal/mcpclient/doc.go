// Package mcpclient calls the tools of an Agent Process server over MCP, for the
// demo, the conformance runner, the benchmark and tests.
//
// It is a real client: the SDK's, over Streamable HTTP, with a bearer
// credential. What it adds is exactness. The SDK reads results into doubles; this
// client hands out data as the server wrote it, and holds a server to its
// word: the text and the structured content of a result must be the same JSON,
// and isError must be the opposite of ok.
//
// It imports the MCP SDK (as mcpsdk), run and internal/canonical, and nothing of
// the server. Start at [Dial].
package mcpclient
