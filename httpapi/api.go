package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/run"
)

// MaxSource is the largest PROCESS.md that can be imported, in bytes.
const MaxSource = operations.MaxSourceBytes

// maxRoles bounds the body of a call that binds roles, in bytes.
const maxRoles = 256 << 10

// Operations does what the API says; *operations.Service does. Each method
// refuses a caller who may not.
type Operations interface {
	// ImportProcess stores a PROCESS.md as a draft.
	ImportProcess(ctx context.Context, caller identity.Caller, source []byte) (operations.Draft, *run.Error)
	// BindRoles maps roles of a draft to groups of the organization.
	BindRoles(ctx context.Context, caller identity.Caller, name string, roles map[string]string) (operations.Draft, *run.Error)
	// PublishProcess makes a draft a version, unless the newest is the same.
	PublishProcess(ctx context.Context, caller identity.Caller, name string) (operations.Published, *run.Error)
	// Catalog lists the newest version of every process, and the drafts.
	Catalog(ctx context.Context, caller identity.Caller) (operations.Listing, *run.Error)
	// DeleteRun deletes a run that is over, and everything kept of it.
	DeleteRun(ctx context.Context, caller identity.Caller, runID string) *run.Error
}

// New returns the API, to be mounted at `/api/` behind bearer.Middleware. A
// request without a proved caller is answered 500: the server is then wired
// wrongly.
func New(ops Operations) http.Handler {
	a := api{ops}
	mux := http.NewServeMux()
	mux.Handle("/api/processes", resource{identity.Publish, methods{http.MethodGet: a.list, http.MethodPost: a.importProcess}})
	mux.Handle("/api/processes/{name}/roles", resource{identity.Publish, methods{http.MethodPut: a.bind}})
	mux.Handle("/api/processes/{name}/publish", resource{identity.Publish, methods{http.MethodPost: a.publish}})
	if reports, ok := ops.(CheckReports); ok {
		mux.Handle("/api/processes/{name}/checks", resource{identity.Publish, methods{http.MethodGet: checksOf(reports)}})
	}
	mux.Handle("/api/runs/{runId}", resource{identity.Operate, methods{http.MethodDelete: a.deleteRun}})
	if log, ok := ops.(AuditLog); ok {
		mux.Handle("/api/audit", resource{identity.Operate, methods{http.MethodGet: auditOf(log)}})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, run.Refuse(run.NotFound, "the API has nothing at this address"))
	})
	return mux
}

type api struct{ ops Operations }

func (a api) list(r *http.Request, caller identity.Caller) answer {
	listing, refused := a.ops.Catalog(r.Context(), caller)
	return answerOf(http.StatusOK, listing, refused)
}

func (a api) importProcess(r *http.Request, caller identity.Caller) answer {
	source, refused := body(r, MaxSource)
	if refused != nil {
		return *refused
	}
	draft, failed := a.ops.ImportProcess(r.Context(), caller, source)
	return answerOf(http.StatusCreated, draft, failed)
}

func (a api) bind(r *http.Request, caller identity.Caller) answer {
	name, refused := pathValue(r, "name")
	if refused != nil {
		return *refused
	}
	raw, refused := body(r, maxRoles)
	if refused != nil {
		return *refused
	}
	roles, issues := readRoles(raw)
	if len(issues) > 0 {
		return answer{refused: run.Refuse(run.Invalid, "the body must be a JSON object of role and group", issues...)}
	}
	draft, failed := a.ops.BindRoles(r.Context(), caller, name, roles)
	return answerOf(http.StatusOK, draft, failed)
}

func (a api) publish(r *http.Request, caller identity.Caller) answer {
	name, refused := pathValue(r, "name")
	if refused != nil {
		return *refused
	}
	published, failed := a.ops.PublishProcess(r.Context(), caller, name)
	status := http.StatusOK
	if published.Created {
		status = http.StatusCreated
	}
	return answerOf(status, published, failed)
}

func (a api) deleteRun(r *http.Request, caller identity.Caller) answer {
	id, refused := pathValue(r, "runId")
	if refused != nil {
		return *refused
	}
	return answerOf(http.StatusOK, struct {
		RunID string `json:"runId"`
	}{id}, a.ops.DeleteRun(r.Context(), caller, id))
}

// pathValue reads an id from the path. One that no table could hold is the id of
// nothing.
func pathValue(r *http.Request, name string) (string, *answer) {
	value := r.PathValue(name)
	if !postgres.ValidText(value) {
		return "", &answer{refused: run.Refuse(run.NotFound, "there is nothing of this name")}
	}
	return value, nil
}

// body reads at most limit bytes. One that says it is larger is not begun.
func body(r *http.Request, limit int64) ([]byte, *answer) {
	tooLarge := &answer{
		status:  http.StatusRequestEntityTooLarge,
		refused: run.Refuse(run.Invalid, fmt.Sprintf("the body is larger than %d bytes", limit)),
	}
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge
	case err != nil:
		return nil, &answer{refused: run.Refuse(run.Invalid, "the body could not be read")}
	}
	return raw, nil
}
