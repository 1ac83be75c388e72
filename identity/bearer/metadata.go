package bearer

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// MetadataPath is where a resource at the root of a host describes itself; the
// path of any other resource follows it (RFC 9728 §3.1).
const MetadataPath = "/.well-known/oauth-protected-resource"

// Metadata is what a protected resource says of itself (RFC 9728 §2).
type Metadata struct {
	// Resource is its identifier, the `aud` of tokens for it (RFC 8707).
	Resource string `json:"resource"`
	// AuthorizationServers are the issuers whose tokens it takes.
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported,omitempty"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	ResourceName         string   `json:"resource_name,omitempty"`
	Documentation        string   `json:"resource_documentation,omitempty"`
}

// MetadataURL is where the metadata of a resource is.
func MetadataURL(resource string) string {
	u, err := url.Parse(resource)
	if err != nil {
		return ""
	}
	u.Path = MetadataPath + strings.TrimRight(u.Path, "/")
	return u.String()
}

// Handler serves the metadata to everyone: whoever asks has no token yet. Pages
// of other origins may read it, for it holds nothing that is not public.
func (m Metadata) Handler() http.Handler {
	full := m
	full.BearerMethods = []string{"header"}
	body, err := json.Marshal(full)
	if err != nil {
		panic(err) // texts only
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		switch r.Method {
		case http.MethodOptions:
			h.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
			h.Set("Access-Control-Allow-Headers", "MCP-Protocol-Version")
			w.WriteHeader(http.StatusNoContent)
		case http.MethodGet, http.MethodHead:
			h.Set("Content-Type", "application/json")
			h.Set("Cache-Control", "public, max-age=300")
			_, _ = w.Write(append(body, '\n')) // the client may have left
		default:
			h.Set("Allow", "GET, HEAD, OPTIONS")
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	})
}
