package mcp

import (
	"net"
	"net/http"
	"net/url"
)

// sameOrigin refuses what a web page of another origin sends. The SDK does no
// such check; what it does by itself is to refuse a Host but localhost on a
// loopback address (see Options.AllowedHosts).
func sameOrigin(next http.Handler, allowed []string) http.Handler {
	protection := http.NewCrossOriginProtection()
	for _, origin := range allowed {
		if err := protection.AddTrustedOrigin(origin); err != nil {
			panic("mcp: allowed origins: " + err.Error())
		}
	}
	guarded := protection.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if withinMachine(r) {
			next.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// withinMachine reports whether a page served by this machine calls over a
// loopback address: a developer's tool, on a port of its own.
func withinMachine(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	host, _, err := net.SplitHostPort(local.String())
	if err != nil || !isLoopback(host) {
		return false
	}
	origin, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && isLoopback(origin.Hostname())
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
