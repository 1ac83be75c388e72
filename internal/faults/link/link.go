package link

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// dialTimeout bounds the connecting to the part behind a link.
const dialTimeout = 2 * time.Second

var errCut = errors.New("the link is cut")

// Link leads to one part, wherever it listens at the moment. Its faults last
// until Heal. It is safe for concurrent use.
type Link struct {
	target func() string

	mu     sync.Mutex
	cut    bool
	delay  time.Duration
	thaw   chan struct{} // not nil while frozen; closed when it thaws
	open   map[net.Conn]struct{}
	passed int64
}

// New makes a link to whatever address target returns when it is dialled.
func New(target func() string) *Link {
	return &Link{target: target, open: map[net.Conn]struct{}{}}
}

// Cut breaks every connection and refuses new ones.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	l.breakAll()
}

// Reset breaks every connection; new ones are fine.
func (l *Link) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.breakAll()
}

func (l *Link) breakAll() {
	for c := range l.open {
		_ = c.Close() // whatever it says, it is of no use any more
	}
}

// Freeze lets nothing through, in either direction, and breaks nothing: what was
// sent arrives once the link is healed.
func (l *Link) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.thaw == nil {
		l.thaw = make(chan struct{})
	}
}

// Delay holds everything up for d.
func (l *Link) Delay(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = d
}

// Heal ends every fault.
func (l *Link) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.delay = false, 0
	if l.thaw != nil {
		close(l.thaw)
		l.thaw = nil
	}
}

// Passed is how many bytes went through.
func (l *Link) Passed() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.passed
}

// Open is how many connections there are.
func (l *Link) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open) / 2
}

// dial connects to the part, unless the link is cut.
func (l *Link) dial(ctx context.Context) (net.Conn, error) {
	l.mu.Lock()
	cut := l.cut
	l.mu.Unlock()
	if cut {
		return nil, errCut
	}
	return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", l.target())
}

// join passes bytes both ways until both sides have finished or one breaks.
func (l *Link) join(a, b net.Conn) {
	l.mu.Lock()
	if l.cut {
		_, _ = a.Close(), b.Close()
	}
	l.open[a], l.open[b] = struct{}{}, struct{}{}
	l.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.pass(a, b) })
	both.Go(func() { l.pass(b, a) })
	both.Wait()
	_, _ = a.Close(), b.Close()
	l.mu.Lock()
	delete(l.open, a)
	delete(l.open, b)
	l.mu.Unlock()
}

func (l *Link) pass(to, from net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			l.hold(n)
			if _, failed := to.Write(buffer[:n]); failed != nil {
				_ = from.Close()
				return
			}
		}
		if err != nil {
			if half, ok := to.(*net.TCPConn); ok {
				_ = half.CloseWrite()
			}
			return
		}
	}
}

// hold waits as long as the link is slow or frozen.
func (l *Link) hold(n int) {
	l.mu.Lock()
	l.passed += int64(n)
	delay, thaw := l.delay, l.thaw
	l.mu.Unlock()
	if delay > 0 {
		time.Sleep(delay)
	}
	if thaw != nil {
		<-thaw
	}
}
