package jwks

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"encoding/json"

	"github.com/go-jose/go-jose/v4"
)

const (
	// maxAnswer bounds a document of an issuer, in bytes.
	maxAnswer = 1 << 20
	// minRSABits is the shortest RSA key that is used (RFC 7518 §3.3).
	minRSABits = 2048
	maxHops    = 3
)

// SafeURL reports whether documents may be fetched from an address: over HTTPS,
// or from this machine.
func SafeURL(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func newClient(issuer string) *http.Client {
	here := strings.HasPrefix(issuer, "http://")
	return &http.Client{
		Timeout: fetchWithin,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxHops || !SafeURL(r.URL.String()) || !here && r.URL.Scheme != "https" {
				return errors.New("it redirects to where keys are not fetched from")
			}
			return nil
		},
	}
}

// fetch gets the keys, from uri if it is known and through discovery otherwise.
func (s *Set) fetch(ctx context.Context, uri string) (string, map[string]jose.JSONWebKey, error) {
	var err error
	if uri == "" {
		if uri, err = s.discover(ctx); err != nil {
			return "", nil, err
		}
	}
	var doc struct{ Keys []json.RawMessage }
	if err := s.get(ctx, uri, &doc); err != nil {
		return "", nil, err
	}
	keys := map[string]jose.JSONWebKey{}
	twice := map[string]bool{}
	for _, raw := range doc.Keys {
		var key jose.JSONWebKey
		// A set may hold kinds of keys that are not known here.
		if json.Unmarshal(raw, &key) != nil || !usable(key) {
			continue
		}
		if _, ok := keys[key.KeyID]; ok {
			twice[key.KeyID] = true
		}
		keys[key.KeyID] = key
	}
	for id := range twice { // which of them is meant, no token says
		delete(keys, id)
	}
	if len(keys) == 0 {
		return "", nil, fmt.Errorf("%s has no key that can be used", uri)
	}
	return uri, keys, nil
}

// usable reports whether tokens may be verified with a key: a named, public,
// asymmetric signature key that is long enough.
func usable(key jose.JSONWebKey) bool {
	if key.KeyID == "" || key.Use != "" && key.Use != "sig" || !key.Valid() || !key.IsPublic() {
		return false
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= minRSABits
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}

// discover asks the issuer where its keys are.
func (s *Set) discover(ctx context.Context) (string, error) {
	var errs []error
	for _, address := range discoveryURLs(s.issuer) {
		var doc struct {
			Issuer string `json:"issuer"`
			URI    string `json:"jwks_uri"`
		}
		err := s.get(ctx, address, &doc)
		switch {
		case err != nil:
		case doc.Issuer != s.issuer:
			err = fmt.Errorf("%s is of the issuer %q", address, doc.Issuer)
		case !SafeURL(doc.URI) || strings.HasPrefix(s.issuer, "https:") && !strings.HasPrefix(doc.URI, "https:"):
			err = fmt.Errorf("%s names %q, where keys are not fetched from", address, doc.URI)
		default:
			return doc.URI, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// discoveryURLs are where an issuer may describe itself: as OpenID Connect
// Discovery §4 has it, and as RFC 8414 §3.1 does.
func discoveryURLs(issuer string) []string {
	trimmed := strings.TrimRight(issuer, "/")
	urls := []string{trimmed + "/.well-known/openid-configuration"}
	if u, err := url.Parse(trimmed); err == nil {
		u.Path = "/.well-known/oauth-authorization-server" + u.Path
		urls = append(urls, u.String())
	}
	return urls
}

func (s *Set) get(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	res, err := s.o.Client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // read only: nothing to lose
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, res.Status)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return err
	}
	if len(body) > maxAnswer {
		return fmt.Errorf("%s answers more than %d bytes", address, maxAnswer)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	return nil
}
