package servertest

import (
	"crypto/rand"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lines keeps what is written to it, line by line, and lets a test wait for one.
type Lines struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{}
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return len(p), nil
}

// All returns the lines so far, and a channel that is closed at the next write.
func (l *Lines) All() ([]string, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return strings.Split(strings.TrimRight(l.text.String(), "\n"), "\n"), l.changed
}

func random(t testing.TB, n int) []byte {
	b := make([]byte, n)
	_, err := rand.Read(b)
	require.NoError(t, err)
	return b
}

func readAll(res *http.Response) ([]byte, error) { return io.ReadAll(res.Body) }
