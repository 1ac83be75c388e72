package ledger

import (
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Entry is one request.
type Entry struct {
	Org       string
	RequestID string
	// Digest is the SHA-256 of caller, tool and arguments: what tells a resend
	// from another request under the same id.
	Digest []byte
	Tool   string
	// RunID is the run the request is about; empty where there is none, as for
	// an upload.
	RunID string
	// Attempt is the id under which the write is, or was last, attempted.
	Attempt string
	// NotAfter is when the attempt stops being able to take effect, kept to the
	// microsecond.
	NotAfter time.Time
	Done     bool
	// Result is what the request came to, opaque JSON of up to 1 MiB; nil while
	// pending.
	Result []byte
	// CreatedAt is when the row was first inserted, by Postgres' clock. It is
	// ignored in what is passed in.
	CreatedAt time.Time
}

const columns = `org, request_id, digest, tool, run_id, attempt, not_after, done, result, created_at`

func scan(row pgx.Row) (Entry, error) {
	var e Entry
	err := row.Scan(&e.Org, &e.RequestID, &e.Digest, &e.Tool, &e.RunID, &e.Attempt,
		&e.NotAfter, &e.Done, &e.Result, &e.CreatedAt)
	return e, err
}

// scanOrNil is scan for a query that may find nothing.
func scanOrNil(row pgx.Row) (*Entry, error) {
	e, err := scan(row)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &e, nil
}
