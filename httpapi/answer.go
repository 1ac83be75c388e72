package httpapi

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/bearer"
	"github.com/agentprocess-temporal/server/run"
)

// answer is what a request gets: data, or a refusal. Of a refusal with status 0
// the code decides.
type answer struct {
	status  int
	data    any
	refused *run.Error
}

func answerOf(status int, data any, refused *run.Error) answer {
	if refused != nil {
		return answer{refused: refused}
	}
	return answer{status: status, data: data}
}

func (a answer) write(w http.ResponseWriter) {
	if a.refused == nil {
		send(w, a.status, struct {
			OK   bool `json:"ok"`
			Data any  `json:"data"`
		}{true, a.data})
		return
	}
	status := a.status
	if status == 0 {
		status = statusOf(a.refused.Code)
	}
	if a.refused.Code == run.Retry {
		w.Header().Set("Retry-After", "1")
	}
	send(w, status, struct {
		OK    bool       `json:"ok"`
		Error *run.Error `json:"error"`
	}{false, a.refused})
}

func refuse(w http.ResponseWriter, e *run.Error) { answer{refused: e}.write(w) }

func send(w http.ResponseWriter, status int, envelope any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(envelope) // the client may have left
}

// methods are the handlers of one path, a handler a method. HEAD is served as GET.
type methods map[string]func(*http.Request, identity.Caller) answer

// resource serves one path to callers with a right: what a refusal says they
// lack. Whether they have it is for the handlers to say.
type resource struct {
	right identity.Right
	methods
}

func (m resource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller, ok := bearer.From(r.Context())
	if !ok {
		slog.ErrorContext(r.Context(), "the API is mounted without authentication")
		answer{status: http.StatusInternalServerError, refused: run.Refuse(run.Retry, "the API is not available")}.write(w)
		return
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	handle, ok := m.methods[method]
	if !ok {
		notAllowed(w, slices.Sorted(maps.Keys(m.methods))...)
		return
	}
	a := handle(r, caller)
	if a.refused != nil && a.refused.Code == run.Forbidden {
		bearer.Insufficient(r.Context(), w, m.right)
	}
	a.write(w)
}

func notAllowed(w http.ResponseWriter, allowed ...string) {
	if slices.Contains(allowed, http.MethodGet) && !slices.Contains(allowed, http.MethodHead) {
		allowed = append(allowed, http.MethodHead)
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	answer{
		status:  http.StatusMethodNotAllowed,
		refused: run.Refuse(run.Invalid, "this address takes another method: "+list),
	}.write(w)
}
