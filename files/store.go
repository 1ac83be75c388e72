package files

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agentprocess-temporal/server/internal/postgres"
)

// File describes an upload.
type File struct {
	Org, ID string
	// Name and ContentType are as the uploader gave them: never trusted, and to
	// be escaped wherever they are shown.
	Name, ContentType string
	// SHA256 is the hash of the content at upload, lower-case hex.
	SHA256 string
	// Bytes is the size of the content.
	Bytes int64
	// By is the subject of the uploader.
	By string
	// CreatedAt is by Postgres' clock; ignored in what is passed in.
	CreatedAt time.Time
}

// QueuePut queues storing an upload with its content. A file that has the id
// already stands as it is: an upload that is retried derives the same id.
func QueuePut(b *pgx.Batch, f File, content []byte) {
	if content == nil {
		content = []byte{} // nil would be NULL
	}
	b.Queue(`INSERT INTO files (org, id, name, content_type, sha256, bytes, uploaded_by, content)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (org, id) DO NOTHING`,
		f.Org, f.ID, []byte(f.Name), []byte(f.ContentType), f.SHA256, f.Bytes, f.By, content)
}

// Open returns an upload and its content, nil where the organization has none
// with this id. The content is what is stored now: [Verify] tells whether it is
// what was uploaded.
func Open(ctx context.Context, pool postgres.DB, org, id string) (*File, []byte, error) {
	var f File
	var name, contentType, content []byte
	err := pool.QueryRow(ctx, `SELECT org, id, name, content_type, sha256, bytes, uploaded_by, created_at, content
		FROM files WHERE org = $1 AND id = $2`, org, id,
	).Scan(&f.Org, &f.ID, &name, &contentType, &f.SHA256, &f.Bytes, &f.By, &f.CreatedAt, &content)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("files: open: %w", err)
	}
	f.Name, f.ContentType = string(name), string(contentType)
	return &f, content, nil
}

// Fact is what is known of a stored file.
type Fact struct {
	// SHA256 is the hash recorded at upload, lower-case hex.
	SHA256 string
	// Intact reports whether the stored bytes still have that hash.
	Intact bool
}

// Verify hashes the stored bytes of the named files again and compares them with
// the hash recorded at upload. Ids that the organization has no file for are not
// in the answer; they may be anything an agent made up. The bytes do not leave Postgres.
func Verify(ctx context.Context, pool postgres.DB, org string, ids []string) (map[string]Fact, error) {
	facts := make(map[string]Fact, len(ids))
	possible := make([]string, 0, len(ids))
	for _, id := range ids {
		if postgres.ValidText(id) {
			possible = append(possible, id)
		}
	}
	if len(possible) == 0 {
		return facts, nil
	}
	rows, err := pool.Query(ctx, `SELECT id, sha256, encode(sha256(content), 'hex') = sha256
		FROM files WHERE org = $1 AND id = ANY($2)`, org, possible)
	if err != nil {
		return nil, fmt.Errorf("files: verify: %w", err)
	}
	var id string
	var fact Fact
	if _, err := pgx.ForEachRow(rows, []any{&id, &fact.SHA256, &fact.Intact}, func() error {
		facts[id] = fact
		return nil
	}); err != nil {
		return nil, fmt.Errorf("files: verify: %w", err)
	}
	return facts, nil
}
