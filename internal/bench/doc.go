// Command bench measures what the server adds to Temporal (`make bench`).
//
// It starts a durable Postgres, the Temporal dev server on a file, and the real
// server, then measures in turns, on that one Temporal: updates of a workflow
// that does nothing, with arguments and results as large as ours (the limit of
// any design), and `claim` and `submit` over MCP. One caller makes them call by
// call in turn, many callers in rounds A B A B, so that what else the machine does
// hits both. It prints a table and writes bench.json.
//
// Server, callers and both workers are one process: the same runtime and the
// same garbage collector for both sides, so the difference between them is the
// path of a write and nothing else. MCP goes over a real loopback connection. Its
// client is a plain HTTP client that posts JSON-RPC and reads the answer: the
// SDK's client would spend as much as the server does, on the same cores.
//
// A target that is missed is shown, and is no error: figures depend on the
// machine, ratios less so.
//
// Start at main; measure.go says what is measured. It may import everything.
package main
