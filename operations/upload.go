package operations

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/agentprocess-temporal/server/files"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/audit"
	"github.com/agentprocess-temporal/server/ledger"
	"github.com/agentprocess-temporal/server/run"
)

type uploadArguments struct {
	FileName      string `json:"fileName"`
	ContentType   string `json:"contentType"`
	ContentBase64 string `json:"contentBase64"`
	RequestID     string `json:"requestId"`
}

type uploadResult struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
}

// upload stores a file (tools upload). It touches no run: Postgres and the
// ledger, in one transaction.
func (s *Service) upload(ctx context.Context, caller identity.Caller, a uploadArguments, raw json.RawMessage) (any, error) {
	content, err := s.decode(a.ContentBase64)
	if err != nil {
		return nil, err
	}
	q, err := newRequest(caller, "upload", a.RequestID, "", raw)
	if err != nil {
		return nil, err
	}
	for range 3 {
		entry, _, _, err := s.look(ctx, q)
		if err != nil {
			return nil, err
		}
		if entry != nil {
			if done, err := s.settled(ctx, q, entry); done != nil || err != nil {
				return done, err
			}
		}
		notAfter := time.Now().Add(attemptLasts)
		attempt, settled, again, err := s.reserve(ctx, q, entry, notAfter)
		if settled != nil || err != nil {
			return settled, err
		}
		if again {
			continue
		}
		if result, again, err := s.store(ctx, q, attempt, notAfter, a, content); !again {
			return result, err
		}
	}
	return nil, fmt.Errorf("request %s: the reservation kept changing", q.id)
}

// store stores the file with its result; again means that a call with another
// attempt was faster, and has the original result.
func (s *Service) store(ctx context.Context, q request, attempt string, notAfter time.Time, a uploadArguments, content []byte) (_ any, again bool, err error) {
	sum := sha256.Sum256(content)
	result := uploadResult{
		// Of the attempt, so that two callers who share one store one file.
		ID:     "f_" + strings.ReplaceAll(attempt, "-", ""),
		SHA256: hex.EncodeToString(sum[:]), Bytes: len(content),
	}
	body, err := json.Marshal(kept{Uploaded: &result})
	if err != nil {
		return nil, false, err
	}
	b := newBatch()
	files.QueuePut(b, files.File{
		Org: q.caller.Org, ID: result.ID, Name: a.FileName, ContentType: a.ContentType,
		SHA256: result.SHA256, Bytes: int64(result.Bytes), By: q.caller.Subject,
	}, content)
	ledger.QueueDone(b, ledger.Entry{
		Org: q.caller.Org, RequestID: q.id, Digest: q.digest, Tool: q.tool, Attempt: attempt, NotAfter: notAfter, Result: body,
	}).Exec(func(tag pgconn.CommandTag) error {
		again = tag.RowsAffected() == 0
		return nil
	})
	audit.Queue(ctx, b, "", audit.OK)
	err = s.Pool.SendBatch(ctx, b).Close()
	return result, again && err == nil, err
}

// decode reads base64 as RFC 4648 has it, padded and without line breaks, and
// holds the upload limit.
func (s *Service) decode(text string) ([]byte, error) {
	tooLarge := run.Refuse(run.Invalid, "the file is too large",
		fmt.Sprintf("contentBase64: at most %d bytes once decoded", s.MaxUploadBytes))
	if base64.StdEncoding.DecodedLen(len(text)) > s.MaxUploadBytes+2 {
		return nil, tooLarge
	}
	content, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return nil, run.Refuse(run.Invalid, "the content cannot be read", "contentBase64: must be base64 with padding and without line breaks")
	}
	if len(content) > s.MaxUploadBytes {
		return nil, tooLarge
	}
	return content, nil
}
