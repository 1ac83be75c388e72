package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	"github.com/agentprocess-temporal/server/identity/bearer"
)

// found is what a server and its identity provider say of themselves.
type found struct {
	resource, authorize, token string
	scopes                     []string
}

func (f found) config(client string, scopes []string) *oauth2.Config {
	slices.Sort(scopes)
	return &oauth2.Config{
		ClientID: client, Scopes: slices.Compact(scopes),
		Endpoint: oauth2.Endpoint{AuthURL: f.authorize, TokenURL: f.token, AuthStyle: oauth2.AuthStyleInParams},
	}
}

// discover finds where to sign in: the server names the issuer (RFC 9728), and
// that its endpoints (OpenID Connect Discovery, RFC 8414).
func discover(ctx context.Context, base string) (f found, err error) {
	var m bearer.Metadata
	if err := getJSON(ctx, bearer.MetadataURL(base+"/mcp"), &m); err != nil {
		return f, fmt.Errorf("the server does not say where to sign in: %w", err)
	}
	if m.Resource != base+"/mcp" {
		return f, fmt.Errorf("the server calls itself %q; use that address", plain(strings.TrimSuffix(m.Resource, "/mcp")))
	}
	if len(m.AuthorizationServers) == 0 {
		return f, errors.New("the server names nobody to sign in at")
	}
	issuer := m.AuthorizationServers[0]
	trimmed := strings.TrimRight(issuer, "/")
	addresses := []string{trimmed + "/.well-known/openid-configuration"}
	if u, err := url.Parse(trimmed); err == nil {
		u.Path = "/.well-known/oauth-authorization-server" + u.Path
		addresses = append(addresses, u.String())
	}
	var errs []error
	for _, address := range addresses {
		var doc struct {
			Issuer    string `json:"issuer"`
			Authorize string `json:"authorization_endpoint"`
			Token     string `json:"token_endpoint"`
		}
		err := getJSON(ctx, address, &doc)
		switch {
		case err != nil:
		case doc.Issuer != issuer:
			err = fmt.Errorf("%s is of another issuer", address)
		case !isPrivate(doc.Authorize) || !isPrivate(doc.Token):
			err = fmt.Errorf("%s names addresses that are not safe to sign in at", address)
		default:
			return found{m.Resource, doc.Authorize, doc.Token, m.ScopesSupported}, nil
		}
		errs = append(errs, err)
	}
	return f, errors.Join(errs...)
}

func getJSON(ctx context.Context, address string, into any) error {
	if !isPrivate(address) {
		return fmt.Errorf("%s is neither https nor on this machine", plain(address))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // read only: nothing to lose
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", plain(address), res.Status)
	}
	return json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(into)
}
