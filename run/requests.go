package run

import "time"

// Request is a write that was carried out, and what came of it. The run
// executes a requestId once, whatever the attempt (spec §4).
type Request struct {
	ID      string    `json:"id"`
	Digest  string    `json:"digest"`
	Attempt string    `json:"attempt"`
	Tool    string    `json:"tool"`
	At      time.Time `json:"at"`
	Outcome Outcome   `json:"outcome"`
	// By is who called, until the outcome is stored; nil from then on, and for a
	// request that an older version remembered.
	By *Actor `json:"by,omitempty"`
	// Stored is when the outcome was known to be in the ledger.
	Stored time.Time `json:"stored,omitzero"`
}

// keepStored is how long a request is remembered after its outcome was stored.
// A caller that saw the reservation before then has long been answered: an
// attempt is good for half a minute.
const keepStored = 2 * time.Minute

// known looks the command's request up: the request if it was carried out
// before, an error if it was another one or if the attempt is too old.
func (r *Run) known(c Command, now time.Time) (*Request, *Error) {
	for i := len(r.Requests) - 1; i >= 0; i-- {
		if r.Requests[i].ID != c.RequestID {
			continue
		}
		if r.Requests[i].Digest != c.Digest {
			return nil, RequestReused()
		}
		return &r.Requests[i], nil
	}
	if now.After(c.NotAfter) {
		return nil, Refuse(Retry, "the call took too long to reach the run; send it again with the same requestId")
	}
	return nil, nil
}

// RequestReused is the refusal of a requestId that was used for another call.
func RequestReused() *Error {
	return Refuse(Conflict, "this requestId was used for another call", "request_reused")
}

func (r *Run) remember(q Request, o Outcome) {
	q.Outcome = o
	r.Requests = append(r.Requests, q)
}

// Unstored returns the requests whose outcome is not known to be in the ledger.
func (r *Run) Unstored() []Request {
	var out []Request
	for _, q := range r.Requests {
		if q.Stored.IsZero() {
			out = append(out, q)
		}
	}
	return out
}

// CountUnstored is the number of requests that Unstored returns.
func (r *Run) CountUnstored() int {
	n := 0
	for i := range r.Requests {
		if r.Requests[i].Stored.IsZero() {
			n++
		}
	}
	return n
}

// MarkStored notes that the ledger holds the outcomes of these requests, and
// forgets those that were stored long enough ago.
func (r *Run) MarkStored(ids []string, now time.Time) {
	now = cut(now)
	stored := make(map[string]bool, len(ids))
	for _, id := range ids {
		stored[id] = true
	}
	kept := r.Requests[:0]
	for _, q := range r.Requests {
		if stored[q.ID] && q.Stored.IsZero() {
			q.Stored, q.By = now, nil
		}
		if q.Stored.IsZero() || now.Sub(q.Stored) < keepStored {
			kept = append(kept, q)
		}
	}
	r.Requests = kept
}
