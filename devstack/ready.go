package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// ErrEnded says that a process ended before it was ready.
var ErrEnded = errors.New("it ended before it was ready")

// readyInterval is how often a readiness URL is asked.
const readyInterval = 25 * time.Millisecond

// WaitReady asks url until it answers 200. It gives up with ErrEnded when ended
// (nil: never) is closed, such as Process.Done, and when ctx ends, with an
// error that tells the last answer.
func WaitReady(ctx context.Context, url string, ended <-chan struct{}) error {
	c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	last := errors.New("no answer yet")
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		res, err := c.Do(req)
		switch {
		case err == nil:
			body, _ := io.ReadAll(io.LimitReader(res.Body, 500))
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
			last = fmt.Errorf("%s: %s", res.Status, body)
		case ctx.Err() == nil:
			last = err
		}
		timer := time.NewTimer(readyInterval)
		select {
		case <-timer.C:
		case <-ended:
			timer.Stop()
			return fmt.Errorf("%s: %w", url, ErrEnded)
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%s is not ready: %w (last: %w)", url, context.Cause(ctx), last)
		}
	}
}
