package audit

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/postgres"
)

// Results that are no code of the protocol (spec §4.3) or of OAuth.
const (
	// OK is a write that was carried out.
	OK = "ok"
	// Replayed is a write that had been carried out before under its requestId,
	// and was answered again.
	Replayed = "replayed"
	// Begun comes before the row of what became of a call whose effect is not in
	// one transaction with it. Without such a row, it is not known.
	Begun = "begun"
	// Recovered is a write that the run itself had stored before its front end
	// could. Only where the front end had gone is it the write's only row.
	Recovered = "recovered"
)

// Entry is one row.
type Entry struct {
	ID  string    `json:"id"`
	At  time.Time `json:"at"`
	Org string    `json:"org"`
	// Kind, Caller, Client and OnBehalfOf are of the caller; all are empty where
	// none was proved, and then Remote is the address that the call came from.
	Kind       string `json:"kind"`
	Caller     string `json:"caller"`
	Client     string `json:"client"`
	OnBehalfOf string `json:"onBehalfOf"`
	Remote     string `json:"remote"`
	// Action is a tool, or what was asked of the catalog.
	Action    string `json:"action"`
	RunID     string `json:"runId"`
	Process   string `json:"process"`
	RequestID string `json:"requestId"`
	// Result is a code of the protocol, one of OAuth, or one of the above.
	Result string `json:"result"`
}

// Of is the entry of a call by a proved caller.
func Of(c identity.Caller, action string) Entry {
	return Entry{
		Org: c.Org, Kind: string(c.Kind), Caller: c.Subject, Client: c.Client, OnBehalfOf: c.OnBehalfOf, Action: action,
	}
}

// maxText bounds what a row holds of a text that a caller chose, in bytes.
const maxText = 512

// text is a text as a row can hold it.
func text(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}

const insert = `INSERT INTO audit (org, kind, caller, client, on_behalf_of, remote, action, run_id, process, request_id, result)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

func (e Entry) args() []any {
	return []any{
		text(e.Org), text(e.Kind), text(e.Caller), text(e.Client), text(e.OnBehalfOf), text(e.Remote),
		text(e.Action), text(e.RunID), text(e.Process), text(e.RequestID), text(e.Result),
	}
}

// Insert adds a row by itself.
func Insert(ctx context.Context, db postgres.DB, e Entry) error {
	if _, err := db.Exec(ctx, insert, e.args()...); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// pending is the entry of the call that a context is of.
type pending struct {
	entry  Entry
	queued atomic.Bool
}

type key struct{}

// With returns a context of a call whose write, if it comes to one, is to be
// logged as e; and tells, when the call is over, whether it came to one.
func With(ctx context.Context, e Entry) (call context.Context, wrote func() bool) {
	p := &pending{entry: e}
	return context.WithValue(ctx, key{}, p), p.queued.Load
}

// Queue adds the row of the call that ctx is of to the batch that stores the
// call's result. It does nothing in a context of no call.
func Queue(ctx context.Context, b *pgx.Batch, runID, result string) {
	p, ok := ctx.Value(key{}).(*pending)
	if !ok {
		return
	}
	e := p.entry
	e.Result = result
	if runID != "" {
		e.RunID = runID
	}
	b.Queue(insert, e.args()...)
	p.queued.Store(true)
}

// QueueRecovered adds the row of a write that the run has stored itself.
func QueueRecovered(b *pgx.Batch, e Entry, runID, requestID string) {
	e.RunID, e.RequestID, e.Result = runID, requestID, Recovered
	b.Queue(insert, e.args()...)
}
