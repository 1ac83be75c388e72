package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/agentprocess-temporal/server/run"
)

// problems are the violations that were found, and how much was held against
// what should be.
type problems struct {
	mu     sync.Mutex
	list   []string
	checks map[string]int
	order  []string
}

func (p *problems) add(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, fmt.Sprintf(format, args...))
}

// checked counts checks of one kind.
func (p *problems) checked(what string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.checks == nil {
		p.checks = map[string]int{}
	}
	if _, ok := p.checks[what]; !ok {
		p.order = append(p.order, what)
	}
	p.checks[what] += n
}

func (p *problems) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.list...)
}

// enough reports whether so much is wrong that it need not be waited for more: what
// is stuck is waited for a minute and longer, one after the other.
func (p *problems) enough() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.list) >= 3
}

const replayed = "replays that returned the original result"

// replay holds the answer to a repeated call against the original result.
func (p *problems) replay(c *call, a answer) {
	p.checked(replayed, 1)
	if !a.ok {
		p.add("a replay was refused (%v): %v", a.refusal, c)
		return
	}
	was, is := withoutURLs(c.Data), withoutURLs(a.data)
	if !bytes.Equal(was, is) {
		p.add("a replay returned another result: %v\n  first: %.3000s\n  then:  %.3000s", c, was, is)
	}
}

// reuse holds the answer to another call under a used requestId.
func (p *problems) reuse(c *call, a answer, args string) {
	p.checked("other calls under a used requestId, refused", 1)
	if a.ok || a.refusal.Code != run.Conflict && a.refusal.Code != run.Invalid {
		p.add("another call under a used requestId was not refused (%v, %.300s): %v", a, args, c)
	}
}

// withoutURLs is a result without its links, which are signed anew each time.
func withoutURLs(data json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return data
	}
	strip(v)
	text, err := json.Marshal(v)
	if err != nil {
		return data
	}
	return text
}

func strip(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "url")
		for _, each := range v {
			strip(each)
		}
	case []any:
		for _, each := range v {
			strip(each)
		}
	}
}
