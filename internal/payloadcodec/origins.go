package payloadcodec

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// ParseOrigins reads the origins of Temporal UIs from configuration text, such
// as `https://temporal.example.com,http://127.0.0.1:8233`, in the form in which
// a browser sends them. Nothing is no origin. There is no wildcard: a page that
// may call is a page that may read.
func ParseOrigins(text string) ([]string, error) {
	var origins []string
	var problems []error
	for entry := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == '\n' }) {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		u, err := url.Parse(strings.ToLower(entry))
		if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" || strings.Contains(u.Host, "*") ||
			u.User != nil || strings.TrimSuffix(u.Path, "/") != "" || strings.ContainsAny(entry, "?#") {
			problems = append(problems, fmt.Errorf("origin %q: expected scheme://host or scheme://host:port", entry))
			continue
		}
		// A browser leaves out the port that goes without saying.
		if u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80" {
			u.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
		}
		origins = append(origins, u.Scheme+"://"+strings.TrimSuffix(u.Host, ":"))
	}
	return origins, errors.Join(problems...)
}

// allowOrigins answers preflights itself, which browsers send without a
// credential, and lets pages of origins read every other answer, refusals too.
func allowOrigins(origins []string, next http.Handler) http.Handler {
	allowed := make(map[string]bool, len(origins))
	for _, o := range origins {
		allowed[o] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		if sent := r.Header.Values("Origin"); len(sent) > 0 {
			if len(sent) > 1 || !allowed[sent[0]] {
				refuse(w, http.StatusForbidden, "origin_not_allowed")
				return
			}
			h.Set("Access-Control-Allow-Origin", sent[0])
			// For the proxy of [Handler]'s cookie; a browser withholds the
			// answer from a page that sent one otherwise.
			h.Set("Access-Control-Allow-Credentials", "true")
			if r.Method == http.MethodOptions {
				h.Set("Access-Control-Allow-Methods", http.MethodPost)
				h.Set("Access-Control-Allow-Headers", "authorization, content-type, x-namespace")
				h.Set("Access-Control-Max-Age", "600") // seconds
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
