package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agentprocess-temporal/server/internal/postgres"
)

// ErrNoDraft is what [Bind] wraps when nothing was imported under the name.
var ErrNoDraft = errors.New("there is no draft of this process")

// Draft is a process as its publishers edit it.
type Draft struct {
	Org, Name string
	// Source is the PROCESS.md, byte for byte.
	Source []byte
	// Bindings map a role of the process to a group id. Some may be of roles
	// that an earlier source had.
	Bindings  map[string]string
	UpdatedBy string
	// UpdatedAt is by Postgres' clock; ignored in what is passed in.
	UpdatedAt time.Time
}

// Import stores d.Source as the draft of that name, in place of an earlier one.
// Bindings stay as they are, also those of roles that the new source no longer
// has: a role that comes back is bound as before. d.Bindings is not used, see
// [Bind].
func Import(ctx context.Context, pool postgres.DB, d Draft) error {
	_, err := pool.Exec(ctx, `INSERT INTO drafts (org, name, source, bindings, updated_by) VALUES ($1, $2, $3, '{}', $4)
		ON CONFLICT (org, name) DO UPDATE SET source = EXCLUDED.source, updated_by = EXCLUDED.updated_by,
			updated_at = clock_timestamp()`,
		d.Org, d.Name, nonNil(d.Source), d.UpdatedBy)
	if err != nil {
		return fmt.Errorf("catalog: import: %w", err)
	}
	return nil
}

// Bind sets the given bindings of a draft and leaves the others as they are; an
// empty value removes one. It wraps [ErrNoDraft] when there is no such draft.
func Bind(ctx context.Context, pool postgres.DB, org, name string, bindings map[string]string) error {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var stored []byte
		err := tx.QueryRow(ctx, `SELECT bindings FROM drafts WHERE org = $1 AND name = $2 FOR UPDATE`, org, name).Scan(&stored)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("%w: %s", ErrNoDraft, name)
		}
		if err != nil {
			return err
		}
		merged, err := decodeBindings(stored)
		if err != nil {
			return err
		}
		for role, group := range bindings {
			if group == "" {
				delete(merged, role)
			} else {
				merged[role] = group
			}
		}
		encoded, err := encodeBindings(merged)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE drafts SET bindings = $3, updated_at = clock_timestamp() WHERE org = $1 AND name = $2`,
			org, name, encoded)
		return err
	})
	if err != nil {
		return fmt.Errorf("catalog: bind: %w", err)
	}
	return nil
}

const draftColumns = `org, name, source, bindings, updated_by, updated_at`

// GetDraft returns the draft of that name, nil where there is none.
func GetDraft(ctx context.Context, pool postgres.DB, org, name string) (*Draft, error) {
	d, err := scanDraft(pool.QueryRow(ctx, `SELECT `+draftColumns+` FROM drafts WHERE org = $1 AND name = $2`, org, name))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("catalog: get draft: %w", err)
	}
	return &d, nil
}

// ListDrafts returns every draft of the organization, ordered by name.
func ListDrafts(ctx context.Context, pool postgres.DB, org string) ([]Draft, error) {
	rows, err := pool.Query(ctx, `SELECT `+draftColumns+` FROM drafts WHERE org = $1 ORDER BY name`, org)
	if err != nil {
		return nil, fmt.Errorf("catalog: list drafts: %w", err)
	}
	drafts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Draft, error) { return scanDraft(row) })
	if err != nil {
		return nil, fmt.Errorf("catalog: list drafts: %w", err)
	}
	return drafts, nil
}

func scanDraft(row pgx.Row) (Draft, error) {
	var d Draft
	var bindings []byte
	if err := row.Scan(&d.Org, &d.Name, &d.Source, &bindings, &d.UpdatedBy, &d.UpdatedAt); err != nil {
		return Draft{}, err
	}
	var err error
	d.Bindings, err = decodeBindings(bindings)
	return d, err
}

// encodeBindings writes bindings with their keys sorted, so that equal ones are
// equal bytes.
func encodeBindings(bindings map[string]string) ([]byte, error) {
	if bindings == nil {
		bindings = map[string]string{}
	}
	return json.Marshal(bindings)
}

func decodeBindings(stored []byte) (map[string]string, error) {
	bindings := map[string]string{}
	if err := json.Unmarshal(stored, &bindings); err != nil {
		return nil, fmt.Errorf("stored bindings: %w", err)
	}
	return bindings, nil
}

// nonNil makes an empty value of nil, which Postgres would take for NULL.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
