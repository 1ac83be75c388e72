package mcp

import (
	"context"
	_ "embed"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/bearer"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/schemas"
)

// Operations does what the tools say.
type Operations interface {
	// Call runs one tool for a caller. args have passed schemas.CheckArguments
	// and are an object. The data returned is one JSON value and reaches the
	// client byte for byte, white space apart. The context carries the values of
	// the HTTP request and is not cancelled when the client leaves.
	Call(ctx context.Context, caller identity.Caller, tool string, args json.RawMessage) (json.RawMessage, *run.Error)
}

// Options adjust the handler; the zero value serves all tools.
type Options struct {
	// Version of the server, as clients see it.
	Version string
	// Tools on offer; nil means all of schemas.Tools. New panics on a name that
	// is not among them.
	Tools []string
	// MaxBody is the largest request body in bytes; 0 means [DefaultMaxBody].
	// A larger one is answered 413 before it is read to the end.
	MaxBody int64
	// AllowedOrigins are the origins (`https://app.example.com`) of web pages
	// that may call, besides the server's own and, on a loopback address, those of
	// this machine. A browser's request from any other is answered 403. Programs
	// send no Origin, and pass. New panics on what is no origin.
	AllowedOrigins []string
	// AllowedHosts are the names, with the port where there is one, under which
	// a reverse proxy on this machine passes requests on. Any other Host but
	// localhost is answered 403 on a loopback address, against DNS rebinding.
	AllowedHosts []string
	// Invalid, if set, is told of every call that is refused because its arguments
	// are not as the tool's schema asks; Operations never hears of those.
	Invalid func(ctx context.Context, tool string)
}

// DefaultMaxBody holds an upload of 10 MiB and leaves room to refuse one that is
// somewhat larger as `invalid`.
const DefaultMaxBody = 16 << 20

// BodyFor is a MaxBody that holds an upload of the given number of bytes, as
// base64 in JSON, with a fifth to spare.
func BodyFor(upload int64) int64 { return max(DefaultMaxBody, upload/5*8+1<<20) }

//go:embed instructions.md
var instructions string

// New returns the MCP endpoint, to be mounted at `/mcp` behind
// bearer.Middleware. A request without a proved caller is answered 500: the
// server is then wired wrongly.
func New(ops Operations, opts Options) http.Handler {
	if opts.MaxBody == 0 {
		opts.MaxBody = DefaultMaxBody
	}
	if opts.Tools == nil {
		opts.Tools = schemas.Tools()
	}
	server := newServer(ops, opts)
	guarded, proxied := transport(server, false), transport(server, true)
	var next http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(opts.AllowedHosts, r.Host) {
			proxied.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
	next = liftArguments(next, opts.MaxBody)
	next = requireCaller(next)
	return sameOrigin(next, opts.AllowedOrigins)
}

func newServer(ops Operations, opts Options) *mcpsdk.Server {
	server := mcpsdk.NewServer(
		&mcpsdk.Implementation{Name: "agentprocess", Title: "Agent Process", Version: opts.Version},
		&mcpsdk.ServerOptions{
			Instructions: instructions,
			// The tools never change while a server runs.
			Capabilities: &mcpsdk.ServerCapabilities{Tools: &mcpsdk.ToolCapabilities{}},
		})
	for _, tool := range opts.Tools {
		server.AddTool(describe(tool), handler(ops, tool, opts.Invalid))
	}
	server.AddReceivingMiddleware(noSubscriptions)
	return server
}

// transport serves MCP. Answers are plain JSON: nothing is ever streamed.
func transport(server *mcpsdk.Server, anyHost bool) http.Handler {
	return mcpsdk.NewStreamableHTTPHandler(
		func(*http.Request) *mcpsdk.Server { return server },
		&mcpsdk.StreamableHTTPOptions{
			Stateless:                  true,
			JSONResponse:               true,
			MaxRequestBodyBytes:        -1, // liftArguments has bounded it
			DisableLocalhostProtection: anyHost,
		})
}

// noSubscriptions refuses the one method that would hold a connection open
// forever, and with it a shutdown: there is nothing to be told of.
func noSubscriptions(next mcpsdk.MethodHandler) mcpsdk.MethodHandler {
	return func(ctx context.Context, method string, req mcpsdk.Request) (mcpsdk.Result, error) {
		if method == "subscriptions/listen" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "nothing here changes that could be subscribed to"}
		}
		return next(ctx, method, req)
	}
}

func requireCaller(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := bearer.From(r.Context()); !ok {
			slog.ErrorContext(r.Context(), "the MCP endpoint is mounted without authentication")
			http.Error(w, "not available", http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, r)
	})
}
