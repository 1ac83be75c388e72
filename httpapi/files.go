package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/agentprocess-temporal/server/files"
	"github.com/agentprocess-temporal/server/internal/postgres"
)

// Files serves evidence under the links that run data carries (spec §5), to be
// mounted at `/files/`. The link is the permission: no other credential is
// asked for. One that was not made here, that has expired, or whose file is gone
// is answered 404, always in the same words.
//
// Files come from agents and people, and are not trusted: they are sent as
// attachments that no browser renders, under a content type of a short list,
// with a name that is safe to save under. Bytes that no longer have the hash
// recorded at upload are not sent at all: that is answered 500, and logged.
func Files(pool postgres.DB, links files.Links) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			say(w, http.StatusMethodNotAllowed, "Files are only read here.")
			return
		}
		id, _ := strings.CutPrefix(r.URL.Path, "/files/")
		org, ok := links.Verify(id, r.URL.Query(), time.Now())
		if !ok {
			noSuchLink(w)
			return
		}
		file, content, err := files.Open(r.Context(), pool, org, id)
		switch {
		case err != nil:
			slog.ErrorContext(r.Context(), "cannot read a file", "org", org, "file", id, "error", err)
			w.Header().Set("Retry-After", "1")
			say(w, http.StatusServiceUnavailable, "The file cannot be read now. Try again.")
		case file == nil:
			noSuchLink(w)
		case !intact(file, content):
			slog.ErrorContext(r.Context(), "a stored file does not have its hash any more", "org", org, "file", id, "sha256", file.SHA256)
			say(w, http.StatusInternalServerError, "The stored file is not what was uploaded any more, so it is not served.")
		default:
			serve(w, r, file, content)
		}
	})
}

func intact(f *files.File, content []byte) bool {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]) == f.SHA256
}

// serve sends the content: whole, in ranges, or not at all where the client has
// it already.
func serve(w http.ResponseWriter, r *http.Request, f *files.File, content []byte) {
	h := w.Header()
	h.Set("Content-Type", safeType(f.ContentType, content))
	h.Set("Content-Disposition", attachment(f.Name))
	h.Set("Cache-Control", "private, max-age=60")
	h.Set("ETag", `"`+f.SHA256+`"`)
	http.ServeContent(w, r, "", f.CreatedAt, bytes.NewReader(content))
}

// protect sets what every answer under /files/ carries.
func protect(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Referrer-Policy", "no-referrer") // the address is a credential
	h.Set("Cache-Control", "private, no-store")
}

func noSuchLink(w http.ResponseWriter) {
	say(w, http.StatusNotFound, "This link is not valid, or not any more. Read the run again for a new one.")
}

// say answers a person who followed a link.
func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the client may have left
}
