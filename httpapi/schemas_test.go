package httpapi_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/httpapi"
	"github.com/agentprocess-temporal/server/schemas"
)

func serveSchemas(t *testing.T) func(method, path string) download {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/schemas/core-2/", httpapi.Schemas())
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return func(method, path string) download {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
		require.NoError(t, err)
		res, err := server.Client().Do(req)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return download{res.StatusCode, res.ContentLength, res.Header, string(text)}
	}
}

func TestEverySchemaIsServedAtTheEndOfItsId(t *testing.T) {
	do := serveSchemas(t)
	served := 0
	require.NoError(t, fs.WalkDir(schemas.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "index.json" {
			return err
		}
		res := do("GET", "/schemas/core-2/"+path)
		require.Equal(t, http.StatusOK, res.status, path)
		require.Equal(t, "application/schema+json", res.header.Get("Content-Type"))
		require.Equal(t, "*", res.header.Get("Access-Control-Allow-Origin"))
		var document struct {
			ID string `json:"$id"`
		}
		require.NoError(t, json.Unmarshal([]byte(res.text), &document))
		require.True(t, strings.HasSuffix(document.ID, "/schemas/core-2/"+path), document.ID)
		served++
		return nil
	}))
	require.Greater(t, served, 28)
}

func TestTheIndexOfTheSchemasIsServed(t *testing.T) {
	do := serveSchemas(t)
	for _, path := range []string{"/schemas/core-2/", "/schemas/core-2/index.json"} {
		res := do("GET", path)
		require.Equal(t, http.StatusOK, res.status)
		require.Equal(t, "application/json", res.header.Get("Content-Type"))
		require.Contains(t, res.text, `"tools/claim.arguments.json"`)
		res = do("HEAD", path)
		require.Equal(t, http.StatusOK, res.status)
		require.Empty(t, res.text)
	}
}

func TestWhatIsNoSchemaIsNotFound(t *testing.T) {
	do := serveSchemas(t)
	for _, path := range []string{"tools", "tools/", "none.json", "tools/none.json", "%2e%2e/schemas.go", "index.json/"} {
		res := do("GET", "/schemas/core-2/"+path)
		require.Equal(t, http.StatusNotFound, res.status, path)
		require.True(t, path[0] == '%' || json.Valid([]byte(res.text)), res.text)
	}
	res := do("DELETE", "/schemas/core-2/index.json")
	require.Equal(t, http.StatusMethodNotAllowed, res.status)
	require.Equal(t, "GET, HEAD", res.header.Get("Allow"))
}
