package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Log is the channel that writes each notification as one line of JSON, with
// "msg":"notification" in front.
type Log struct {
	mu  sync.Mutex
	out io.Writer
}

// NewLog makes a Log that writes to out, one Write a line.
func NewLog(out io.Writer) *Log { return &Log{out: out} }

var _ Channel = (*Log)(nil)

type line struct {
	Msg string `json:"msg"`
	Notification
}

// Deliver implements Channel.
func (l *Log) Deliver(ctx context.Context, notifications []Notification) error {
	for _, n := range notifications {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n.To == nil {
			n.To = []string{}
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(line{"notification", n}); err != nil {
			return fmt.Errorf("notification %s: %w", n.ID, err)
		}
		if err := l.write(b.Bytes()); err != nil {
			return fmt.Errorf("notification %s: %w", n.ID, err)
		}
	}
	return nil
}

func (l *Log) write(b []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.out.Write(b)
	return err
}
