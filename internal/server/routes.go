package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/agentprocess-temporal/server/httpapi"
	"github.com/agentprocess-temporal/server/internal/payloadcodec"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/mcp"
	"github.com/agentprocess-temporal/server/schemas"
)

// readyWithin bounds the checks behind /readyz.
const readyWithin = 3 * time.Second

func (s *Server) routes() http.Handler {
	door := s.newDoor()
	calls := s.newGuard()
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.telemetry.Continue(door.Protect(mcp.New(s.telemetry.Calls(calls), mcp.Options{
		MaxBody: mcp.BodyFor(int64(s.opts.MaxUploadBytes)), Version: s.opts.Version, Tools: schemas.Tools(),
		AllowedHosts: s.publicHosts(), Invalid: s.telemetry.Invalid,
	}))))
	mux.Handle("/api/", http.NewCrossOriginProtection().Handler(door.Protect(httpapi.New(calls))))
	if s.opts.PayloadKeys != nil {
		mux.Handle("/codec/", payloadcodec.Handler(payloadcodec.New(s.opts.PayloadKeys), door.Protect, s.opts.CodecOrigins))
	}
	s.describeResource(mux)
	mux.Handle("/files/", httpapi.Files(s.pool, s.service.Links))
	mux.Handle("/schemas/core-2/", httpapi.Schemas())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { answer(w, s.ready(r.Context())) })
	return mux
}

// publicHosts is the name under which a proxy on this machine passes calls on.
func (s *Server) publicHosts() []string {
	u, err := url.Parse(s.opts.PublicURL)
	if err != nil || u.Host == "" {
		return nil
	}
	return []string{u.Host}
}

// ready lists what keeps the server from working, empty when nothing does.
func (s *Server) ready(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	problems := map[string]string{}
	if err := postgres.Check(ctx, s.pool); err != nil {
		problems["postgres"] = schemaProblem(err)
		s.opts.Log.WarnContext(ctx, "not ready: postgres", "error", err)
	}
	if _, err := s.temporal.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		problems["temporal"] = "not reachable"
		s.opts.Log.WarnContext(ctx, "not ready: temporal", "error", err)
	} else if err := CheckSearchAttributes(ctx, s.temporal, s.opts.Temporal.Namespace); err != nil {
		problems["temporal"] = "search attributes are not registered"
		s.opts.Log.WarnContext(ctx, "not ready: search attributes", "error", err)
	}
	return problems
}

// schemaProblem says what keeps a server from its database, without its address.
func schemaProblem(err error) string {
	switch {
	case errors.Is(err, postgres.ErrOlder):
		return "its schema is older than this binary needs: run `agentprocess migrate`"
	case errors.Is(err, postgres.ErrNewer):
		return "its schema is newer than this binary can use: run a newer release"
	}
	return "not reachable"
}

func answer(w http.ResponseWriter, problems map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	status := http.StatusOK
	if len(problems) > 0 {
		status = http.StatusServiceUnavailable
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": len(problems) == 0, "problems": problems})
}
