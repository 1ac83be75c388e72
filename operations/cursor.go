package operations

import (
	"encoding/base64"
	"encoding/json"

	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/run"
)

const defaultPage = 20

// A cursor is a place in an order, not a row: a page continues behind it
// whatever has changed since. It holds nothing that its reader may not see.

func writeCursor(place any) *string {
	b, err := json.Marshal(place)
	if err != nil {
		panic(err) // places are times and ids
	}
	text := base64.RawURLEncoding.EncodeToString(b)
	return &text
}

func readCursor[T any](text string) (*T, error) {
	if text == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	place := new(T)
	// A place in another list's order has other fields, and is written otherwise.
	if err != nil || json.Unmarshal(b, place) != nil || !postgres.ValidText(string(b)) || *writeCursor(place) != text {
		return nil, run.Refuse(run.Invalid, "the cursor is not one of this server", "cursor: use nextCursor of the page before")
	}
	return place, nil
}

// page is one page of a list.
type page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"nextCursor"`
}

func limitOf(limit *json.Number) int {
	if limit == nil {
		return defaultPage
	}
	f, err := limit.Float64()
	if err != nil {
		return defaultPage
	}
	return int(f)
}
