package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"
)

// chaos carries the schedule out.
type chaos struct {
	stack *stack
	say   func(string, ...any)

	mu     sync.Mutex
	done   []string // kind and what kind of thing, for counting
	failed error
}

// run returns once the last fault has ended. A part that is still under one
// fault is spared the next.
func (c *chaos) run(ctx context.Context, faults []fault) error {
	began := time.Now()
	var each sync.WaitGroup
	for _, f := range faults {
		if !wait(ctx, time.Until(began.Add(f.At))) {
			break
		}
		each.Go(func() {
			// A restart that has begun is finished, also when time is up.
			did, err := c.do(ctx, f)
			c.mu.Lock()
			defer c.mu.Unlock()
			if err != nil && c.failed == nil {
				c.failed = fmt.Errorf("%v: %w", f, err)
			}
			if did {
				c.say("%v", f)
				c.done = append(c.done, f.Kind+" "+kindOf(f))
			}
		})
	}
	each.Wait()
	return c.failed
}

// kindOf is what a fault hits, without telling replicas apart.
func kindOf(f fault) string {
	on := f.On
	for i := range replicas {
		on = strings.ReplaceAll(on, partServer(i), "server")
	}
	return strings.TrimPrefix(on, "server/")
}

// wait returns false if ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// store is what Postgres and Temporal have in common.
type store interface {
	again(ctx context.Context, sig syscall.Signal) error
	pause()
	resume()
}

func (c *chaos) do(ctx context.Context, f fault) (did bool, err error) {
	switch f.On {
	case partPostgres:
		return c.onStore(ctx, f, c.stack.postgres, &c.stack.postgres.busy)
	case partTemporal:
		return c.onStore(ctx, f, c.stack.temporal, &c.stack.temporal.busy)
	}
	if l, ok := c.stack.links[f.On]; ok {
		switch f.Kind {
		case reset:
			l.Reset()
			return true, nil
		case cut:
			l.Cut()
		case freeze:
			l.Freeze()
		case delay:
			l.Delay(f.slowness())
		}
		wait(ctx, f.For)
		l.Heal()
		return true, nil
	}
	name, at, _ := strings.Cut(f.On, "/")
	for _, s := range c.stack.servers {
		if s.name == name {
			return c.onServer(ctx, f, s, at)
		}
	}
	return false, fmt.Errorf("there is no %s", f.On)
}

func (c *chaos) onStore(ctx context.Context, f fault, s store, busy *sync.Mutex) (bool, error) {
	if !busy.TryLock() {
		return false, nil
	}
	defer busy.Unlock()
	finish := context.WithoutCancel(ctx)
	switch f.Kind {
	case kill:
		return true, s.again(finish, syscall.SIGKILL)
	case crash:
		return true, s.again(finish, syscall.SIGQUIT)
	case restart:
		return true, s.again(finish, 0)
	default: // stop
		s.pause()
		wait(ctx, f.For)
		s.resume()
		return true, nil
	}
}

func (c *chaos) onServer(ctx context.Context, f fault, s *serverPart, at string) (bool, error) {
	if !s.busy.TryLock() {
		return false, nil
	}
	defer s.busy.Unlock()
	switch f.Kind {
	case kill:
		s.signal(syscall.SIGKILL)
	case restart:
		s.signal(syscall.SIGTERM)
	case point:
		return true, s.arm(at)
	default: // stop
		s.pause()
		wait(ctx, f.For)
		s.resume()
	}
	return true, nil
}
