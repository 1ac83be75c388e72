package link

import (
	"context"
	"net"
	"sync"
)

// Listener is an address behind which links take turns.
type Listener struct {
	// Addr is host:port, on loopback.
	Addr string

	listener net.Listener
	links    []*Link
	ctx      context.Context //nolint:containedctx // it ends what Accept began
	cancel   context.CancelFunc
	serving  sync.WaitGroup
}

// Listen listens on a free port. A connection goes to the next link in turn, or
// to the one after it if that leads nowhere.
func Listen(links ...*Link) (*Listener, error) {
	ctx, cancel := context.WithCancel(context.Background())
	in, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		return nil, err
	}
	l := &Listener{Addr: in.Addr().String(), listener: in, links: links, ctx: ctx, cancel: cancel}
	l.serving.Go(l.accept)
	return l, nil
}

func (l *Listener) accept() {
	for turn := 0; ; turn++ {
		in, err := l.listener.Accept()
		if err != nil {
			return // closed
		}
		l.serving.Go(func() { l.serve(in, turn) })
	}
}

func (l *Listener) serve(in net.Conn, turn int) {
	for i := range l.links {
		to := l.links[(turn+i)%len(l.links)]
		out, err := to.dial(l.ctx)
		if err == nil {
			to.join(in, out)
			return
		}
	}
	_ = in.Close() // nobody is there
}

// Close stops listening and breaks what goes through.
func (l *Listener) Close() {
	l.cancel()
	_ = l.listener.Close()
	for _, link := range l.links {
		link.Heal()
		link.Reset()
	}
	l.serving.Wait()
}
