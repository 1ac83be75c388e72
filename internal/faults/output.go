package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/agentprocess-temporal/server/internal/faults/faultpoint"
)

// output takes what the parts write: into a file, and what counts into memory.
type output struct {
	mu   sync.Mutex
	file *os.File
	// notified counts deliveries by the id of the notification.
	notified map[string]int
	// reached counts the deaths at each point, errors the calls that a server
	// could not finish, alarms what it wants an operator to see.
	reached map[string]int
	alarms  []string
}

// alarming is what no server says whatever happens to its neighbours: that a run
// is behind its record, that notifications are lost, that it does not replay
// (TMPRL1100), that a workflow closed over its handlers (TMPRL1102), a panic.
var alarming = []string{"ALARM", "given up", "panic: ", "nondeterminism", "TMPRL11"}

func newOutput(path string) (*output, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &output{file: f, notified: map[string]int{}, reached: map[string]int{}}, nil
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.file.Write(p)
}

// Close implements io.Closer.
func (o *output) Close() error { return o.file.Close() }

// as is the output of one part, line by line.
func (o *output) as(part string) io.Writer { return &lines{to: o, part: part} }

type lines struct {
	to      *output
	part    string
	mu      sync.Mutex
	partial []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		i := bytes.IndexByte(l.partial, '\n')
		if i < 0 {
			return len(p), nil
		}
		l.to.line(l.part, string(l.partial[:i]))
		l.partial = l.partial[i+1:]
	}
}

func (o *output) line(part, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.file.WriteString(part + ": " + text + "\n") // a log, for reading only
	if _, name, ok := strings.Cut(text, faultpoint.Died); ok {
		o.reached[name]++
		return
	}
	if strings.HasPrefix(part, "server") && slices.ContainsFunc(alarming, func(sign string) bool { return strings.Contains(text, sign) }) {
		o.alarms = append(o.alarms, part+": "+text)
	}
	if !strings.Contains(text, `"msg":"notification"`) {
		return
	}
	// What a process that died had begun to write stands before it at worst.
	var n struct {
		ID string `json:"id"`
	}
	if i := strings.Index(text, `{"msg":"notification"`); i >= 0 && json.Unmarshal([]byte(text[i:]), &n) == nil {
		o.notified[n.ID]++
	}
}

// delivered is how often each notification went out.
func (o *output) delivered() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[string]int, len(o.notified))
	for id, n := range o.notified {
		all[id] = n
	}
	return all
}
