package conformance_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/conformance"
)

// sweepVariable, when set, has every path of every answer broken in turn. It
// takes about ten minutes.
const sweepVariable = "AGENTPROCESS_CONFORMANCE_SWEEP"

// free are paths that a server may fill as it likes.
var free = []string{"error.message", "decide.arguments.requestId", "claim.arguments.requestId", "describe: data.person.format", "describe: data.limits.check"}

// TestEveryPathOfEveryAnswerMatters changes one value, wherever it is, in the
// answers of one tool, and once leaves it out: each time a check must notice.
func TestEveryPathOfEveryAnswerMatters(t *testing.T) {
	if os.Getenv(sweepVariable) == "" {
		t.Skip(sweepVariable + " is not set")
	}
	b := newBench(t)
	paths := b.paths(t)
	t.Logf("%d paths", len(paths))
	var mu sync.Mutex
	var missed []string
	var group sync.WaitGroup
	slots := make(chan struct{}, 3)
	for _, path := range paths {
		if slices.ContainsFunc(free, func(f string) bool { return strings.Contains(path, f) }) {
			continue
		}
		for how, damage := range damages {
			group.Add(1)
			go func() {
				defer group.Done()
				slots <- struct{}{}
				defer func() { <-slots }()
				if !b.notices(t, path, damage) {
					mu.Lock()
					defer mu.Unlock()
					missed = append(missed, path+": "+how)
					t.Log("missed:", path, how)
				}
			}()
		}
	}
	group.Wait()
	require.Empty(t, missed)
}

// gone in the place of a value leaves it out.
type gone struct{}

var damages = map[string]func(any) any{
	"left out": func(any) any { return gone{} },
	"changed": func(x any) any {
		switch v := x.(type) {
		case string:
			if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
				return at.Add(97 * time.Minute).Format(time.RFC3339Nano)
			}
			return v + "x"
		case json.Number:
			return json.Number(v.String() + "1")
		case bool:
			return !v
		case nil:
			return "x"
		case []any:
			return []any{}
		}
		return object{}
	},
}

// paths are the paths of all answers of a run of the suite, by tool.
func (b *bench) paths(t *testing.T) []string {
	t.Helper()
	var mu sync.Mutex
	seen := map[string]bool{}
	p := newProxy(t, b.url, b.tokens, func(_ *proxy, x *exchange) {
		x.ask()
		mu.Lock()
		defer mu.Unlock()
		damage(x.answer, "", func(path string, v any) any { seen[x.tool+": "+path] = true; return v })
	})
	c := *b.config
	c.Publish, c.Published = nil, true
	suite, err := conformance.Open(context.Background(), conformance.Options{URL: p.url, Config: &c, SkipSlow: true})
	require.NoError(t, err)
	pass(t, suite.Run(context.Background()))
	return slices.Sorted(maps.Keys(seen))
}

// damage visits every value with its path; names of steps and fields are stars.
func damage(x any, path string, visit func(string, any) any) {
	switch c := x.(type) {
	case object:
		for k, v := range c {
			name := k
			if strings.HasSuffix(path, "data.steps") || strings.HasSuffix(path, "inputs") || strings.HasSuffix(path, "output") {
				name = "*"
			}
			inner := strings.TrimPrefix(path+"."+name, ".")
			if strings.Contains(path, "*") && (strings.Contains(path, "inputs.*") || strings.Contains(path, "output.*")) {
				continue
			}
			damage(v, inner, visit)
			c[k] = visit(inner, c[k])
			if _, out := c[k].(gone); out {
				delete(c, k)
			}
		}
	case []any:
		for i, v := range c {
			damage(v, path+"[]", visit)
			if c[i] = visit(path+"[]", v); c[i] == (gone{}) {
				c[i] = nil
			}
		}
	}
}

// notices tells whether the suite fails when one path is damaged.
func (b *bench) notices(t *testing.T, path string, how func(any) any) bool {
	p := newProxy(t, b.url, b.tokens, func(_ *proxy, x *exchange) {
		x.ask()
		if strings.HasPrefix(path, x.tool+": ") {
			damage(x.answer, "", func(at string, v any) any {
				if x.tool+": "+at == path {
					return how(v)
				}
				return v
			})
		}
	})
	c := *b.config
	c.Publish, c.Published = nil, true
	suite, err := conformance.Open(context.Background(), conformance.Options{URL: p.url, Config: &c, SkipSlow: true, FailFast: true})
	if err != nil {
		return true
	}
	_, failures, _ := suite.Run(context.Background()).Count()
	return failures > 0
}
