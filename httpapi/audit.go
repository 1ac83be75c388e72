package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/audit"
	"github.com/agentprocess-temporal/server/run"
)

// AuditLog is what [New] finds on operations that keep an audit log.
type AuditLog interface {
	// Audit lists rows of the caller's organization; q.Org is ignored.
	Audit(ctx context.Context, caller identity.Caller, q audit.Query) ([]audit.Entry, *run.Error)
}

// auditPage is a page of the log. Next is the `after` of the page behind it,
// also where there is none yet.
type auditPage struct {
	Items []audit.Entry `json:"items"`
	Next  string        `json:"next"`
}

// auditOf reads `?run=&caller=&action=&result=&after=&limit=`.
func auditOf(log AuditLog) func(*http.Request, identity.Caller) answer {
	return func(r *http.Request, caller identity.Caller) answer {
		v := r.URL.Query()
		q := audit.Query{RunID: v.Get("run"), Caller: v.Get("caller"), Action: v.Get("action"), Result: v.Get("result")}
		if q.After = v.Get("after"); v.Has("limit") {
			var err error
			if q.Limit, err = strconv.Atoi(v.Get("limit")); err != nil || q.Limit < 1 || q.Limit > audit.MaxPage {
				return answer{refused: run.Refuse(run.Invalid, "the query cannot be read",
					"limit: must be a whole number from 1 to "+strconv.Itoa(audit.MaxPage))}
			}
		}
		entries, refused := log.Audit(r.Context(), caller, q)
		page := auditPage{Items: entries, Next: q.After}
		if page.Items == nil {
			page.Items = []audit.Entry{}
		} else if len(entries) > 0 {
			page.Next = entries[len(entries)-1].Place()
		}
		return answerOf(http.StatusOK, page, refused)
	}
}
