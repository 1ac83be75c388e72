package access

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
)

// connect opens a connection and sends a text.
func (w world) connect(text string) net.Conn {
	w.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(w.URL, "http://")) //nolint:noctx // on loopback, in a test
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, text)
	require.NoError(w.t, err)
	return c
}

// ends waits until the server has closed a connection.
func ends(t *testing.T, c net.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err := io.Copy(io.Discard, c)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the server keeps the connection")
}

func TestAClientThatTakesItsTimeIsCutOff(t *testing.T) {
	require.NotZero(t, server.DefaultTimeouts.Header)
	require.NotZero(t, server.DefaultTimeouts.Read)
	require.NotZero(t, server.DefaultTimeouts.Write)
	require.NotZero(t, server.DefaultTimeouts.Idle)
	w := start(t, func(o *server.Options) {
		o.Timeouts = server.Timeouts{Header: 300 * time.Millisecond, Idle: 300 * time.Millisecond, Read: 600 * time.Millisecond, Write: 10 * time.Second}
	})
	bearer := "Authorization: Bearer " + w.Token(A1) + "\r\n"
	for name, text := range map[string]string{
		"says nothing":               "",
		"never ends its headers":     "POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
		"never ends its body":        "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + bearer + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"never ends its chunks":      "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + bearer + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		"keeps its connection open":  "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"sends a body to the API":    "POST /api/processes HTTP/1.1\r\nHost: localhost\r\n" + bearer + "Content-Length: 100\r\n\r\n-",
		"asks for a file, and stops": "GET /files/f_1 HTTP/1.1\r\nHost: local",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ends(t, w.in(t).connect(text))
		})
	}
}

func TestWhoNeverReadsItsAnswersIsCutOffAndTakesNoMemory(t *testing.T) {
	w := start(t, func(o *server.Options) { o.Timeouts.Write = time.Second })
	id := w.startRun()
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_run","arguments":{"runId":%q}}}`, id)
	request := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", w.Token(A1), len(call), call)
	const clients = 5
	var sent atomic.Int64
	var all errgroup.Group
	before := heap()
	for range clients {
		c := w.connect("")
		all.Go(func() error {
			// One call after the other, and no answer read: once the buffers between are
			// full the server cannot write, and then it does not wait for ever.
			if err := c.SetWriteDeadline(time.Now().Add(2 * time.Minute)); err != nil {
				return err
			}
			for n := 0; n < 64<<20; n += len(request) {
				if _, err := io.WriteString(c, request); errors.Is(err, os.ErrDeadlineExceeded) {
					return errors.New("the server keeps the connection")
				} else if err != nil {
					return nil // cut off
				}
				sent.Add(int64(len(request)))
			}
			return errors.New("the server reads on for ever")
		})
	}
	done := make(chan error, 1)
	go func() { done <- all.Wait() }()
	most := uint64(0)
	for tick := time.Tick(20 * time.Millisecond); ; {
		select {
		case err := <-done:
			require.NoError(t, err)
			t.Logf("%d clients sent %d kB and read nothing; the heap grew by %d kB at most", clients, sent.Load()>>10, (most-min(before, most))>>10)
			require.Less(t, most, before+128<<20)
			res, _ := w.http(w.Token(A1), http.MethodGet, "/healthz", "")
			require.Equal(t, http.StatusOK, res.StatusCode, "others are served")
			return
		case <-tick:
			most = max(most, heap())
		}
	}
}

// heap is how much of the heap is in use, in bytes.
func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestABodyThatIsTooLargeIsNotReadToItsEnd(t *testing.T) {
	w := start(t, func(o *server.Options) { o.MaxUploadBytes = 1 << 20 })
	for _, path := range []string{"/mcp", "/api/processes"} {
		c := w.connect("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + w.Token(Boss) +
			"\r\nContent-Type: application/json\r\nContent-Length: 1000000000000\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err, path)
		_ = res.Body.Close()
		require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode, path)
	}
}
