package access

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
)

func TestWhoSendsAllOfALargeBodyBeforeReadingLearnsWhyItIsRefused(t *testing.T) {
	w := start(t, func(o *server.Options) { o.MaxUploadBytes = 1 << 20 })
	const size = 24 << 20
	known := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", size, strings.Repeat(" ", size))
	chunked := fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", size, strings.Repeat(" ", size))
	for name, c := range map[string]struct {
		path, token, body string
		status            int
	}{
		"an upload with a bad token":            {"/mcp", "expired", known, http.StatusUnauthorized},
		"an upload with a bad token, in chunks": {"/mcp", "expired", chunked, http.StatusUnauthorized},
		"an upload that is too large":           {"/mcp", w.Token(A1), known, http.StatusRequestEntityTooLarge},
		"an upload too large, in chunks":        {"/mcp", w.Token(A1), chunked, http.StatusRequestEntityTooLarge},
		"an import with a bad token":            {"/api/processes", "expired", known, http.StatusUnauthorized},
		"an import that is too large":           {"/api/processes", w.Token(Boss), known, http.StatusRequestEntityTooLarge},
		"an import too large, in chunks":        {"/api/processes", w.Token(Boss), chunked, http.StatusRequestEntityTooLarge},
		"something to an address of nothing":    {"/nothing", w.Token(A1), known, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			conn := w.in(t).connect("POST " + c.path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + c.token +
				"\r\nContent-Type: application/json\r\n")
			_, err := io.WriteString(conn, c.body)
			require.NoError(t, err, "the connection is reset while the client sends")
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			_, err = io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, c.status, res.StatusCode)
			require.Equal(t, c.status == http.StatusUnauthorized, res.Header.Get("Www-Authenticate") != "")
		})
	}
}

func TestWhoAsksBeforeSendingALargeBodyIsAnsweredAtOnce(t *testing.T) {
	w := start(t)
	conn := w.connect("POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer expired\r\n" +
		"Expect: 100-continue\r\nContent-Length: 12000000\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
}
