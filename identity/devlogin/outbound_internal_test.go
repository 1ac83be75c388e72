package devlogin

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyPublicAddressesAreFetchedFrom(t *testing.T) {
	for text, want := range map[string]bool{
		"93.184.215.14": true, "2606:2800:21f:cb07:6820:80da:af6b:8b2c": true,
		"127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "0.0.0.0": false, "::": false, "224.0.0.1": false, "255.255.255.255": false, "fe80::1": false, "fd00::1": false,
		"64:ff9b::a00:1": false, "2002:7f00:1::": false, "::ffff:127.0.0.1": false, "::7f00:1": false,
	} {
		require.Equal(t, want, isPublic(netip.MustParseAddr(text).Unmap()), text)
	}
}

func TestANameThatResolvesToThisMachineDoesNotLeadToIt(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(s.Close)
	get := func(address string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		require.NoError(t, err)
		res, err := newDocumentClient().Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	}
	require.NoError(t, get(s.URL))
	require.Equal(t, 1, asked)
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	// What a rebound name is: another spelling than that of loopback.
	for _, host := range []string{"0.0.0.0", "[::]", "localhost.", "[::ffff:0.0.0.0]"} {
		require.Error(t, get("http://"+host+port), host)
	}
	require.Equal(t, 1, asked)
}
