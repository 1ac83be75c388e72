package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/schemas"
)

const schemasPath = "/schemas/core-2/"

// Schemas serves the documents of schemas.FS, to be mounted at
// `/schemas/core-2/`; that address itself is the index. They are public.
func Schemas() http.Handler {
	documents := schemas.FS()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*") // web pages validate, too
		h.Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			notAllowed(w, http.MethodGet)
			return
		}
		name, ok := strings.CutPrefix(r.URL.Path, schemasPath)
		if name == "" {
			name = "index.json"
		}
		content, err := fs.ReadFile(documents, name)
		if !ok || err != nil { // a folder, too: nothing is listed
			refuse(w, run.Refuse(run.NotFound, "there is no such schema"))
			return
		}
		sum := sha256.Sum256(content)
		h.Set("Content-Type", "application/schema+json")
		if name == "index.json" {
			h.Set("Content-Type", "application/json")
		}
		h.Set("Cache-Control", "public, max-age=300")
		h.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}
