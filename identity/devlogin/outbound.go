package devlogin

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"syscall"
)

// newDocumentClient fetches client id metadata documents. Anybody can name the
// address of one, so it reaches the public internet, and this machine only for
// an address that says so: no name, whatever it resolves to at that moment, leads
// into the network that this machine is in. Nothing is followed, for the address
// is the identity of a client, and no proxy is asked, for it would resolve the
// name by itself.
func newDocumentClient() *http.Client {
	return &http.Client{
		Timeout:       documentWithin,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DialContext: dialDocument, DisableKeepAlives: true, TLSHandshakeTimeout: documentWithin},
	}
}

var errNotPublic = errors.New("not an address to fetch from")

func dialDocument(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	here := isLoopback(host)
	d := net.Dialer{Control: func(_, resolved string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(resolved)
		if err != nil {
			return err
		}
		if ip := to.Addr().Unmap(); here && ip.IsLoopback() || !here && isPublic(ip) {
			return nil
		}
		return errNotPublic
	}}
	return d.DialContext(ctx, network, address)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// special are ranges that are not public although netip does not say so (RFC
// 6890): shared and reserved ones, and those that stand for IPv4 addresses.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

// isPublic reports whether an address is one of the public internet.
func isPublic(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, p := range special {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}
