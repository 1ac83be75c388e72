package httpapi

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/run"
)

// CheckReports measures checks; *operations.Service does. Operations that do not
// have no such address.
type CheckReports interface {
	// CheckReport compares the checks of a process with what people decided, over
	// the last span, or over all there is where that is zero.
	CheckReport(ctx context.Context, caller identity.Caller, process string, span time.Duration) (operations.CheckReport, *run.Error)
}

func checksOf(reports CheckReports) func(*http.Request, identity.Caller) answer {
	return func(r *http.Request, caller identity.Caller) answer {
		name, refused := pathValue(r, "name")
		if refused != nil {
			return *refused
		}
		span, ok := spanOf(r.URL.Query().Get("since"))
		if !ok {
			return answer{refused: run.Refuse(run.Invalid, "the time span cannot be read", "since: expected a span such as 30d, 12h or 45m")}
		}
		report, failed := reports.CheckReport(r.Context(), caller, name, span)
		return answerOf(http.StatusOK, report, failed)
	}
}

var spanPattern = regexp.MustCompile(`^([1-9][0-9]{0,5})([mhd])$`)

// spanOf reads a span of time as durations are written in a process, for at most
// a hundred years; none is zero.
func spanOf(text string) (time.Duration, bool) {
	if text == "" {
		return 0, true
	}
	found := spanPattern.FindStringSubmatch(text)
	if found == nil {
		return 0, false
	}
	n, err := strconv.Atoi(found[1])
	span := time.Duration(n) * map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[found[2]]
	return span, err == nil && span > 0 && span <= 100*366*24*time.Hour
}
