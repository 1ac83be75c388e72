package operations

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/audit"
	"github.com/agentprocess-temporal/server/internal/canonical"
	"github.com/agentprocess-temporal/server/internal/faults/faultpoint"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/ledger"
	"github.com/agentprocess-temporal/server/records"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

const (
	// attemptLasts is how long an attempt may still be carried out after it was
	// sent: the run refuses it later.
	attemptLasts = 30 * time.Second
	// answerWithin bounds how long a caller waits for the run.
	answerWithin = 15 * time.Second
)

// answerWithin bounds how long a caller waits, with time for a check where the
// write may need one.
func (s *Service) answerWithin(c *run.Command) time.Duration {
	if c.CheckSeconds == 0 {
		return answerWithin
	}
	return max(answerWithin, workflows.CheckLasts(s.CheckTry)+besidesCheck)
}

// besidesCheck is what a write with a check takes apart from the check, at most.
const besidesCheck = 2 * time.Second

// request is one call of a write, whatever it writes.
type request struct {
	caller identity.Caller
	tool   string
	id     string
	digest []byte
	runID  string
}

// newRequest digests a call: who calls, what, and with which arguments. The
// canonical form makes the digest one of the values, not of their spelling.
func newRequest(caller identity.Caller, tool, requestID, runID string, args json.RawMessage) (request, error) {
	form, err := canonical.JSON(args)
	if err != nil || !postgres.ValidText(requestID) {
		return request{}, run.Refuse(run.Invalid, "the arguments cannot be read", "requestId: must not contain a NUL character")
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00", caller.Kind, caller.Subject, tool)
	h.Write(form)
	return request{caller: caller, tool: tool, id: requestID, digest: h.Sum(nil), runID: runID}, nil
}

// write is one write to a run: the path that every one of them takes, in the
// order that docs/write-path.md explains.
type write struct {
	request
	command run.Command
	// facts, if set, finds out what lies outside the run, once the request is
	// reserved.
	// The issues it returns are those of a submission that is to be refused, where
	// they are too many to travel.
	facts func(ctx context.Context, r *run.Run, c *run.Command) (issues []string, err error)
}

func (s *Service) write(ctx context.Context, w write) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, s.answerWithin(&w.command))
	defer cancel()
	w.command.RequestID, w.command.Digest = w.id, hex.EncodeToString(w.digest)
	w.command.By = actor(w.caller)
	for range 3 {
		result, again, err := s.tryWrite(ctx, w)
		if !again {
			return result, err
		}
	}
	return nil, fmt.Errorf("request %s: the reservation kept changing", w.id)
}

// tryWrite is one pass over the path; again means that the ledger moved under
// it and that it must look anew.
func (s *Service) tryWrite(ctx context.Context, w write) (result any, again bool, err error) {
	lap := s.laps(ctx, w.tool)
	entry, row, now, err := s.look(ctx, w.request)
	if err != nil {
		return nil, false, err
	}
	if entry != nil {
		if done, err := s.settled(ctx, w.request, entry); done != nil || err != nil {
			return done, false, err
		}
	}
	if row == nil {
		return nil, false, run.Refuse(run.NotFound, "no such run")
	}
	if w.command.Claim != nil && !w.caller.MayWork(row.Process) {
		return nil, false, run.Refuse(run.Forbidden, "this agent does not work on runs of this process")
	}
	r, err := s.open(ctx, w.caller.Org, row.Record)
	if err != nil {
		return nil, false, err
	}
	w.command.NotAfter = time.Now().Add(attemptLasts)
	if entry == nil {
		if err := early(r, w.command, now); err != nil {
			return nil, false, err
		}
	}
	lap(StageLook)
	attempt, settled, again, err := s.reserve(ctx, w.request, entry, w.command.NotAfter)
	if settled != nil || again || err != nil {
		return settled, again, err
	}
	lap(StageReserve)
	faultpoint.Here(faultpoint.Reserved)
	w.command.Attempt = attempt
	var issues []string
	if w.facts != nil {
		if issues, err = w.facts(ctx, r, &w.command); err != nil {
			return nil, false, s.giveUp(ctx, w.request, attempt, err)
		}
	}
	lap(StageVerify)
	written, err := s.update(ctx, w)
	if errors.Is(err, errLookAgain) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, s.giveUp(ctx, w.request, attempt, err)
	}
	lap(StageUpdate)
	faultpoint.Here(faultpoint.Updated)
	if refused := written.Outcome.Refusal; refused != nil {
		if issues != nil {
			refused.Issues = issues
		}
		if err := s.applyRefused(ctx, written.Record, refused.Code); err != nil {
			return nil, false, err
		}
		return nil, false, s.release(ctx, w.request, attempt, refused)
	}
	r = run.Open(r.Process, written.Record)
	kept := keep(r, w.tool, written.Outcome)
	if again, err := s.apply(ctx, w.request, attempt, w.command.NotAfter, r, kept); again || err != nil {
		return nil, again, err
	}
	lap(StageApply)
	faultpoint.Here(faultpoint.Applied)
	result, err = s.dress(ctx, w.caller.Org, kept)
	return result, false, err
}

// look reads, in one round trip, what is known of the request and of the run.
func (s *Service) look(ctx context.Context, q request) (entry *ledger.Entry, row *records.Row, now time.Time, err error) {
	b := newBatch()
	ledger.QueueLook(b, q.caller.Org, q.id, &entry)
	if postgres.ValidText(q.runID) {
		records.QueueLook(b, q.caller.Org, q.runID, &row, &now)
	}
	err = s.Pool.SendBatch(ctx, b).Close()
	return entry, row, now, err
}

// settled answers from the ledger: a conflict for another call under the same
// requestId, the original result of this one. It is nil, nil while pending.
func (s *Service) settled(ctx context.Context, q request, e *ledger.Entry) (any, error) {
	if !bytes.Equal(e.Digest, q.digest) {
		return nil, run.RequestReused()
	}
	if !e.Done {
		return nil, nil
	}
	var k kept
	if err := json.Unmarshal(e.Result, &k); err != nil {
		return nil, fmt.Errorf("stored result: %w", err)
	}
	return s.dress(ctx, q.caller.Org, &k)
}

// early refuses, from the record, what the caller may never do, and what costs it
// one more poll at worst: a lost race costs one read and no commit. Everything
// else is for the run to say: a record may lag behind it, and of a write that was
// carried out and then lost its reservation, only the run knows that the caller is
// the one who decided the item or ended the run.
func early(r *run.Run, c run.Command, now time.Time) error {
	c.NotAfter = now
	refusal := r.Check(c, now)
	switch {
	case refusal == nil:
		return nil
	case refusal.Code == run.Forbidden, refusal.Code == run.NotFound,
		refusal.Code == run.Conflict && slices.Equal(refusal.Issues, []string{"claimed_by_other"}):
		return refusal
	}
	return nil
}

// reserve makes the request ours under a fresh attempt, or joins the attempt
// that is under way.
func (s *Service) reserve(ctx context.Context, q request, entry *ledger.Entry, notAfter time.Time) (attempt string, settled any, again bool, err error) {
	if entry == nil {
		attempt = uuid.NewString()
		entry, err = ledger.Reserve(ctx, s.Pool, ledger.Entry{
			Org: q.caller.Org, RequestID: q.id, Digest: q.digest, Tool: q.tool, RunID: q.runID,
			Attempt: attempt, NotAfter: notAfter,
		})
		if err != nil || entry == nil {
			return attempt, nil, false, err
		}
		if settled, err = s.settled(ctx, q, entry); settled != nil || err != nil {
			return "", settled, false, err
		}
	}
	ours, err := ledger.Extend(ctx, s.Pool, q.caller.Org, q.id, entry.Attempt, notAfter)
	return entry.Attempt, nil, err == nil && !ours, err
}

// giveUp ends an attempt. A refusal of our own is a known outcome and frees the
// requestId, so that a call that failed is not recorded; after anything else the
// run may yet carry the write out, and the reservation stays.
func (s *Service) giveUp(ctx context.Context, q request, attempt string, err error) error {
	var refused *run.Error
	if errors.As(err, &refused) && refused.Code != run.Retry {
		return s.release(ctx, q, attempt, refused)
	}
	return err
}

// release frees the requestId of a write whose outcome is known: it was refused.
// A check that was not answered is one, although the code is retry: Temporal would
// give the same answer to the same attempt again.
func (s *Service) release(ctx context.Context, q request, attempt string, refused *run.Error) error {
	if err := ledger.Release(ctx, s.Pool, q.caller.Org, q.id, attempt); err != nil {
		return err
	}
	return refused
}

// apply stores the record and the result in one transaction. settled means that
// the run itself, or another call, was faster to store a result: that one is the
// original, and the one to answer with.
func (s *Service) apply(ctx context.Context, q request, attempt string, notAfter time.Time, r *run.Run, k *kept) (settled bool, err error) {
	result, err := json.Marshal(k)
	if err != nil {
		return false, err
	}
	row, err := Row(r)
	if err != nil {
		return false, err
	}
	b := newBatch()
	records.QueueApply(b, row)
	ledger.QueueDone(b, ledger.Entry{
		Org: q.caller.Org, RequestID: q.id, Digest: q.digest, Tool: q.tool, RunID: r.ID,
		Attempt: attempt, NotAfter: notAfter, Result: result,
	}).Exec(func(tag pgconn.CommandTag) error {
		settled = tag.RowsAffected() == 0
		return nil
	})
	audit.Queue(ctx, b, r.ID, audit.OK)
	err = s.Pool.SendBatch(ctx, b).Close()
	return settled && err == nil, err
}

// applyRefused stores the record of a submission that was not accepted: its
// handoff changed.
func (s *Service) applyRefused(ctx context.Context, record run.Record, code run.Code) error {
	row, err := Row(run.Open(nil, record))
	if err != nil {
		return err
	}
	b := newBatch()
	records.QueueApply(b, row)
	audit.Queue(ctx, b, record.ID, string(code))
	return s.Pool.SendBatch(ctx, b).Close()
}
