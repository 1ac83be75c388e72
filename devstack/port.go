package devstack

import (
	"net"
	"strconv"
)

// host is where everything listens: nothing of a development stack is meant
// to be reached from another machine.
const host = "127.0.0.1"

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// choosePort returns the wanted port if it is free, and a free one if it is
// taken or 0. Another process may still take it before it is used.
func choosePort(wanted int) (int, error) {
	l, err := net.Listen("tcp", address(wanted))
	if err != nil && wanted != 0 {
		l, err = net.Listen("tcp", address(0))
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
