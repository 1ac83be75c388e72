package link_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/faults/link"
)

// part answers each line with its own name and the line.
func part(t *testing.T, name string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				lines := bufio.NewScanner(c)
				for lines.Scan() {
					fmt.Fprintf(c, "%s: %s\n", name, lines.Text())
				}
			}()
		}
	}()
	return l.Addr().String()
}

type conversation struct {
	net.Conn
	*bufio.Reader
}

func (c conversation) greet() (string, error) {
	if _, err := fmt.Fprintln(c.Conn, "hello"); err != nil {
		return "", err
	}
	return c.ReadString('\n')
}

func (c conversation) Read(p []byte) (int, error) { return c.Reader.Read(p) }

func dial(t *testing.T, addr string) conversation {
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return conversation{c, bufio.NewReader(c)}
}

func TestConnectionsTakeTurns(t *testing.T) {
	a, b := part(t, "a"), part(t, "b")
	first, second := link.New(func() string { return a }), link.New(func() string { return b })
	front, err := link.Listen(first, second)
	require.NoError(t, err)
	t.Cleanup(front.Close)
	answers := map[string]int{}
	for range 4 {
		answer, err := dial(t, front.Addr).greet()
		require.NoError(t, err)
		answers[answer]++
	}
	require.Equal(t, map[string]int{"a: hello\n": 2, "b: hello\n": 2}, answers)

	// Where one leads nowhere, the other serves.
	first.Cut()
	for range 4 {
		answer, err := dial(t, front.Addr).greet()
		require.NoError(t, err)
		require.Equal(t, "b: hello\n", answer)
	}
}

func TestACutBreaksWhatIsOpenAndRefusesWhatIsNewUntilItIsHealed(t *testing.T) {
	a := part(t, "a")
	l := link.New(func() string { return a })
	front, err := link.Listen(l)
	require.NoError(t, err)
	t.Cleanup(front.Close)
	c := dial(t, front.Addr)
	_, err = c.greet()
	require.NoError(t, err)
	l.Cut()
	_, err = io.ReadAll(c)
	require.NoError(t, err, "it ends")
	_, err = dial(t, front.Addr).greet()
	require.Error(t, err)
	l.Heal()
	_, err = dial(t, front.Addr).greet()
	require.NoError(t, err)
}

func TestWhatIsFrozenArrivesOnceItThaws(t *testing.T) {
	a := part(t, "a")
	l := link.New(func() string { return a })
	front, err := link.Listen(l)
	require.NoError(t, err)
	t.Cleanup(front.Close)
	c := dial(t, front.Addr)
	l.Freeze()
	answered := make(chan string, 1)
	go func() {
		answer, _ := c.greet()
		answered <- answer
	}()
	require.Never(t, func() bool { return len(answered) > 0 }, 100*time.Millisecond, 10*time.Millisecond)
	l.Heal()
	require.Equal(t, "a: hello\n", <-answered)
}

func TestADelayHoldsEverythingUp(t *testing.T) {
	a := part(t, "a")
	l := link.New(func() string { return a })
	front, err := link.Listen(l)
	require.NoError(t, err)
	t.Cleanup(front.Close)
	l.Delay(60 * time.Millisecond)
	began := time.Now()
	_, err = dial(t, front.Addr).greet()
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), 120*time.Millisecond, "both ways")
}
