package audit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/agentprocess-temporal/server/internal/postgres"
)

// MaxPage is the most rows that one [List] returns.
const MaxPage = 1000

// Query asks for the rows of one organization; the empty one has those of
// callers whom nobody could prove. Empty fields match everything.
type Query struct {
	Org string
	// After is the place of the last row seen ([Entry.Place]), empty for the first
	// page.
	After                         string
	RunID, Caller, Action, Result string
	// Limit is at most [MaxPage]; 0 means that.
	Limit int
}

// ErrPlace is the error of a [Query] whose After is no place.
var ErrPlace = errors.New("audit: not a place in the log")

// Place is where the entry is in the log, as text for a [Query].
func (e Entry) Place() string { return strconv.FormatInt(e.At.UnixMicro(), 10) + "." + e.ID }

func readPlace(text string) (at time.Time, id uuid.UUID, err error) {
	if text == "" {
		return time.Time{}, uuid.Nil, nil
	}
	micros, rest, _ := strings.Cut(text, ".")
	n, errAt := strconv.ParseInt(micros, 10, 64)
	id, errID := uuid.Parse(rest)
	if errAt != nil || errID != nil || n < 0 || n > 1<<53 {
		return at, id, ErrPlace
	}
	return time.UnixMicro(n).UTC(), id, nil
}

// List returns rows, the oldest first. A row is dated when it is written and seen
// when its transaction ends, so that one may turn up after a later one was seen.
// A [Recovered] row whose write turns out to have a row of its own is left out.
func List(ctx context.Context, db postgres.DB, q Query) ([]Entry, error) {
	if q.Limit <= 0 || q.Limit > MaxPage {
		q.Limit = MaxPage
	}
	for _, s := range []string{q.Org, q.RunID, q.Caller, q.Action, q.Result} {
		if !postgres.ValidText(s) {
			return nil, nil
		}
	}
	at, id, err := readPlace(q.After)
	if err != nil {
		return nil, err
	}
	rows, err := db.Query(ctx, `SELECT id::text, at, org, kind, caller, client, on_behalf_of, remote, action, run_id, process, request_id, result
		FROM audit a WHERE org = $1 AND (at, id) > ($2, $8) AND ($3 = '' OR run_id = $3) AND ($4 = '' OR caller = $4)
			AND ($5 = '' OR action = $5) AND ($6 = '' OR result = $6)
			AND NOT (result = 'recovered' AND EXISTS (SELECT FROM audit o WHERE o.org = a.org AND o.run_id = a.run_id
				AND o.request_id = a.request_id AND o.action = a.action AND o.result = 'ok'))
		ORDER BY at, id LIMIT $7`, q.Org, at, q.RunID, q.Caller, q.Action, q.Result, q.Limit, id)
	if err != nil {
		return nil, fmt.Errorf("audit: list: %w", err)
	}
	entries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e Entry, err error) {
		err = row.Scan(&e.ID, &e.At, &e.Org, &e.Kind, &e.Caller, &e.Client, &e.OnBehalfOf, &e.Remote,
			&e.Action, &e.RunID, &e.Process, &e.RequestID, &e.Result)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("audit: list: %w", err)
	}
	return entries, nil
}

// Happened reports whether a call that is logged before and after, of this action on
// this run, was carried out since a moment, or has begun and is not known to have been
// refused.
func Happened(ctx context.Context, db postgres.DB, org, runID, action string, since time.Time) (happened bool, err error) {
	err = db.QueryRow(ctx, `SELECT coalesce(bool_or(result = $5) OR (array_agg(result ORDER BY at DESC, id DESC))[1] = $6, false)
		FROM audit WHERE org = $1 AND run_id = $2 AND run_id <> '' AND action = $3 AND at > $4`,
		org, runID, action, since, OK, Begun).Scan(&happened)
	if err != nil {
		return false, fmt.Errorf("audit: %w", err)
	}
	return happened, nil
}
