package devlogin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// grant is what tokens are issued on, again and again with a refresh token; it
// implements op.RefreshTokenRequest.
type grant struct {
	client, subject  string
	audience, scopes []string
	at, until        time.Time
	// family is the sign-in that the grant goes back to.
	family string
}

func (g *grant) GetAMR() []string          { return nil }
func (g *grant) GetAudience() []string     { return g.audience }
func (g *grant) GetAuthTime() time.Time    { return g.at }
func (g *grant) GetClientID() string       { return g.client }
func (g *grant) GetScopes() []string       { return g.scopes }
func (g *grant) GetSubject() string        { return g.subject }
func (g *grant) SetCurrentScopes([]string) {} // all of them, as before

// CreateAccessToken implements op.AuthStorage.
func (s *storage) CreateAccessToken(_ context.Context, r op.TokenRequest) (string, time.Time, error) {
	if err := s.stillThere(r.GetSubject()); err != nil {
		return "", time.Time{}, err
	}
	return rand.Text(), time.Now().Add(accessLasts), nil
}

// stillThere refuses tokens for who has left the directory.
func (s *storage) stillThere(subject string) error {
	if _, ok := s.o.Directory().Person(subject); ok {
		return nil
	}
	if _, ok := s.o.Directory().Caller("agent:" + subject); ok {
		return nil
	}
	return oidc.ErrInvalidGrant().WithDescription("the directory does not know the subject any more")
}

// CreateAccessAndRefreshTokens implements op.AuthStorage. A refresh token is good
// once: the answer has the next one.
func (s *storage) CreateAccessAndRefreshTokens(ctx context.Context, r op.TokenRequest, current string) (id, next string, until time.Time, err error) {
	if id, until, err = s.CreateAccessToken(ctx, r); err != nil {
		return "", "", time.Time{}, err
	}
	g := &grant{subject: r.GetSubject(), audience: r.GetAudience(), scopes: r.GetScopes(), at: time.Now(), until: time.Now().Add(refreshLasts)}
	switch r := r.(type) {
	case *request:
		g.client, g.family = r.ClientID, r.id
	case *grant:
		g.client, g.at, g.family = r.client, r.at, r.family
	default:
		return "", "", time.Time{}, fmt.Errorf("no refresh token for a %T", r)
	}
	next = rand.Text() + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if current != "" {
		if s.refresh[current] == nil {
			s.replayed(current)
			return "", "", time.Time{}, op.ErrInvalidRefreshToken // somebody was faster
		}
		s.spend(current, g.family)
		delete(s.refresh, current)
	}
	for token, old := range s.refresh {
		if time.Now().After(old.until) {
			delete(s.refresh, token)
		}
	}
	if len(s.refresh) >= maxOpen {
		return "", "", time.Time{}, errTooMany
	}
	s.refresh[next] = g
	return id, next, until, nil
}

// TokenRequestByRefreshToken implements op.AuthStorage. A refresh token that was
// used before is in two hands: it ends all that go back to the same sign-in (RFC
// 9700 §4.14.2).
func (s *storage) TokenRequestByRefreshToken(_ context.Context, token string) (op.RefreshTokenRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.refresh[token]
	if g == nil || time.Now().After(g.until) {
		s.replayed(token)
		return nil, op.ErrInvalidRefreshToken
	}
	copied := *g
	return &copied, nil
}

// GetPrivateClaimsFromRequest implements op.CanGetPrivateClaimsFromRequest: it
// says who a person is. What a person may do, the server reads in the directory.
func (s *storage) GetPrivateClaimsFromRequest(_ context.Context, r op.TokenRequest, _ []string) (map[string]any, error) {
	return personal(r.GetSubject()), nil
}

func personal(subject string) map[string]any {
	if !strings.Contains(subject, "@") {
		return nil
	}
	return map[string]any{"email": subject, "email_verified": true}
}

// Token is an access token for someone of the directory, such as
// "person:mira@example.com", as if they had signed in at the command line, or as
// an agent has it by client credentials.
func (p *Provider) Token(id string, lasts time.Duration) (string, error) {
	caller, ok := p.o.Directory().Caller(id)
	if !ok {
		return "", fmt.Errorf("the directory has no %s", id)
	}
	key := keyOf(p.o.Key)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: p.o.Key},
		(&jose.SignerOptions{}).WithType("at+jwt").WithHeader("kid", key.id))
	if err != nil {
		return "", err
	}
	now := time.Now()
	clientID := caller.Subject
	if caller.IsPerson() {
		clientID = CommandLine
	}
	own := map[string]any{"client_id": clientID}
	for name, value := range personal(caller.Subject) {
		own[name] = value
	}
	// For whoever reads the token to choose one; the server does not.
	for name, value := range map[string]bool{"operator": caller.Operator, "publisher": caller.Publisher} {
		if value {
			own[name] = true
		}
	}
	return jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: p.o.Issuer, Subject: caller.Subject, Audience: jwt.Audience{p.o.Resource}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(lasts)),
	}).Claims(own).Serialize()
}

// Secrets are the client secrets of the directory's agents, by name.
func (p *Provider) Secrets() map[string]string {
	out := map[string]string{}
	for _, name := range p.o.Directory().Agents() {
		out[name] = p.storage.secretOf(name)
	}
	return out
}

// IdentityFile is the configuration of a server that takes this provider's
// tokens (identity/trust).
func (p *Provider) IdentityFile(org string) string {
	return fmt.Sprintf(`# Written by agentprocess dev at every start.
resource: %s
people: { from: directory, persons: strict }
issuers:
  - issuer: %s
    organization: %s
    algorithms: [EdDSA]
    human_clients: [%s]
rate: { per_second: 2000, burst: 5000 }
`, p.o.Resource, p.o.Issuer, org, CommandLine)
}

// What follows the library asks for, and nothing here offers.

var errNotOffered = errors.New("not offered")

// TerminateSession implements op.AuthStorage: there are no sessions.
func (s *storage) TerminateSession(context.Context, string, string) error { return nil }

// RevokeToken implements op.AuthStorage; its endpoint is not served.
func (s *storage) RevokeToken(context.Context, string, string, string) *oidc.Error {
	return oidc.ErrServerError()
}

// GetRefreshTokenInfo implements op.AuthStorage.
func (s *storage) GetRefreshTokenInfo(context.Context, string, string) (string, string, error) {
	return "", "", op.ErrInvalidRefreshToken
}

// SetUserinfoFromScopes implements op.OPStorage.
func (s *storage) SetUserinfoFromScopes(context.Context, *oidc.UserInfo, string, string, []string) error {
	return nil
}

// SetUserinfoFromToken implements op.OPStorage; its endpoint is not served.
func (s *storage) SetUserinfoFromToken(context.Context, *oidc.UserInfo, string, string, string) error {
	return errNotOffered
}

// SetIntrospectionFromToken implements op.OPStorage; its endpoint is not served.
func (s *storage) SetIntrospectionFromToken(context.Context, *oidc.IntrospectionResponse, string, string, string) error {
	return errNotOffered
}

// GetPrivateClaimsFromScopes implements op.OPStorage.
func (s *storage) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return nil, nil
}

// GetKeyByIDAndClientID implements op.OPStorage: clients have no keys.
func (s *storage) GetKeyByIDAndClientID(context.Context, string, string) (*jose.JSONWebKey, error) {
	return nil, errNotOffered
}

// ValidateJWTProfileScopes implements op.OPStorage.
func (s *storage) ValidateJWTProfileScopes(context.Context, string, []string) ([]string, error) {
	return nil, errNotOffered
}

// Health implements op.Storage.
func (s *storage) Health(context.Context) error { return nil }
