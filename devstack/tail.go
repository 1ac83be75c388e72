package devstack

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// tailLines is how many of a child's last lines an error quotes.
const tailLines = 20

// tail passes a child's output on and remembers its last lines, so that an
// error can say what the child said before it ended.
type tail struct {
	mu      sync.Mutex
	out     io.Writer // nil: nowhere
	lines   []string
	partial []byte
}

// Write never fails: a log that cannot be written must not stop a database.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.out != nil {
		_, _ = t.out.Write(p)
	}
	t.remember(p)
	return len(p), nil
}

// unlogged remembers and does not pass on.
type unlogged struct{ *tail }

func (u unlogged) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.remember(p)
	return len(p), nil
}

func (t *tail) remember(p []byte) {
	t.partial = append(t.partial, p...)
	for {
		i := bytes.IndexByte(t.partial, '\n')
		if i < 0 {
			break
		}
		t.lines = append(t.lines, string(t.partial[:i]))
		t.partial = t.partial[i+1:]
	}
	if extra := len(t.lines) - tailLines; extra > 0 {
		t.lines = append([]string(nil), t.lines[extra:]...)
	}
}

// String returns the last lines, newline-separated.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.lines
	if len(t.partial) > 0 {
		lines = append(lines[:len(lines):len(lines)], string(t.partial))
	}
	return strings.Join(lines, "\n")
}
