package httpapi

import (
	"net/http"

	"github.com/agentprocess-temporal/server/run"
)

// statuses is the one table from the codes of spec §4.3 to HTTP.
var statuses = map[run.Code]int{
	run.Invalid:     http.StatusBadRequest,
	run.Forbidden:   http.StatusForbidden,
	run.NotFound:    http.StatusNotFound,
	run.Conflict:    http.StatusConflict,
	run.Stale:       http.StatusConflict,
	run.NotAccepted: http.StatusUnprocessableEntity,
	run.Retry:       http.StatusServiceUnavailable,
}

func statusOf(code run.Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}
