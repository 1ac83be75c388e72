package devlogin

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// storage implements op.Storage, in memory.
type storage struct {
	o         Options
	secret    []byte
	documents *documents

	mu       sync.Mutex
	requests map[string]*request // by id
	codes    map[string]string   // request id by code
	refresh  map[string]*grant   // by refresh token
	spent    map[string]spent    // by code or refresh token
}

var (
	_ op.Storage                        = (*storage)(nil)
	_ op.ClientCredentialsStorage       = (*storage)(nil)
	_ op.CanGetPrivateClaimsFromRequest = (*storage)(nil)
)

func newStorage(o Options) *storage {
	// The secret of what is derived is one of the key: both live as long.
	secret := sha256.Sum256(append([]byte("agentprocess development clients\x00"), o.Key.Seed()...))
	return &storage{
		o: o, secret: secret[:], documents: newDocuments(o.Fetch),
		requests: map[string]*request{}, codes: map[string]string{}, refresh: map[string]*grant{}, spent: map[string]spent{},
	}
}

var (
	errNoRequest = errors.New("there is no such request, or it is over")
	errTooMany   = errors.New("too many people are signing in")
)

// maxOpen bounds the requests under way, and the refresh tokens.
const maxOpen = 1000

// request is somebody signing in; it implements op.AuthRequest.
type request struct {
	oidc.AuthRequest
	id       string
	client   *client
	audience []string
	subject  string
	at       time.Time // when it began, then when the person signed in
}

func (r *request) GetID() string                      { return r.id }
func (r *request) GetACR() string                     { return "" }
func (r *request) GetAMR() []string                   { return nil }
func (r *request) GetAudience() []string              { return r.audience }
func (r *request) GetAuthTime() time.Time             { return r.at }
func (r *request) GetClientID() string                { return r.ClientID }
func (r *request) GetNonce() string                   { return r.Nonce }
func (r *request) GetScopes() []string                { return r.Scopes }
func (r *request) GetSubject() string                 { return r.subject }
func (r *request) Done() bool                         { return r.subject != "" }
func (r *request) GetRedirectURI() string             { return r.RedirectURI }
func (r *request) GetResponseType() oidc.ResponseType { return r.ResponseType }
func (r *request) GetResponseMode() oidc.ResponseMode { return r.ResponseMode }
func (r *request) GetState() string                   { return r.State }
func (r *request) GetCodeChallenge() *oidc.CodeChallenge {
	return &oidc.CodeChallenge{Challenge: r.CodeChallenge, Method: r.CodeChallengeMethod}
}

// CreateAuthRequest implements op.AuthStorage.
func (s *storage) CreateAuthRequest(ctx context.Context, a *oidc.AuthRequest, _ string) (op.AuthRequest, error) {
	c, err := s.client(ctx, a.ClientID)
	if err != nil {
		return nil, err
	}
	if !c.allows(a.RedirectURI) {
		return nil, oidc.ErrInvalidRequestRedirectURI()
	}
	r := &request{AuthRequest: *a, id: rand.Text(), client: c, audience: []string{s.o.Resource}, at: time.Now()}
	// Everyone may stay signed in: MCP clients do not know to ask for it.
	if !slices.Contains(r.Scopes, oidc.ScopeOfflineAccess) {
		r.Scopes = append(slices.Clone(r.Scopes), oidc.ScopeOfflineAccess)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, other := range s.requests {
		if time.Since(other.at) > requestLasts {
			delete(s.requests, id)
		}
	}
	for code, id := range s.codes {
		if s.requests[id] == nil {
			delete(s.codes, code)
		}
	}
	if len(s.requests) >= maxOpen {
		return nil, errTooMany
	}
	s.requests[r.id] = r
	return r, nil
}

func (s *storage) open(id string) (*request, error) {
	r := s.requests[id]
	if r == nil || time.Since(r.at) > requestLasts {
		return nil, errNoRequest
	}
	return r, nil
}

// AuthRequestByID implements op.AuthStorage.
func (s *storage) AuthRequestByID(_ context.Context, id string) (op.AuthRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.open(id)
	if err != nil {
		return nil, err
	}
	copied := *r // the library reads it without the lock
	return &copied, nil
}

// signIn says who a request is of. It can be said once.
func (s *storage) signIn(id, email string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.open(id)
	if err != nil || r.subject != "" {
		return errNoRequest
	}
	r.subject, r.at = email, time.Now()
	return nil
}

// SaveAuthCode implements op.AuthStorage.
func (s *storage) SaveAuthCode(_ context.Context, id, code string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[code] = id
	return nil
}

// AuthRequestByCode implements op.AuthStorage. A code is good once, whatever
// comes of it. Sent again, it ends what was granted on it (RFC 6749 §4.1.2).
func (s *storage) AuthRequestByCode(_ context.Context, code string) (op.AuthRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replayed(code)
	r, err := s.open(s.codes[code])
	s.spend(code, s.codes[code])
	delete(s.codes, code)
	if err != nil {
		return nil, err
	}
	copied := *r
	return &copied, nil
}

// DeleteAuthRequest implements op.AuthStorage.
func (s *storage) DeleteAuthRequest(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.requests, id)
	return nil
}

// GetClientByClientID implements op.OPStorage.
func (s *storage) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := s.client(ctx, id)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// AuthorizeClientIDSecret implements op.OPStorage.
func (s *storage) AuthorizeClientIDSecret(ctx context.Context, id, secret string) error {
	c, err := s.client(ctx, id)
	if err != nil {
		return err
	}
	if c.AuthMethod() == oidc.AuthMethodNone || subtle.ConstantTimeCompare([]byte(secret), []byte(s.secretOf(id))) != 1 {
		return errors.New("the secret is not right")
	}
	return nil
}

// ClientCredentials implements op.ClientCredentialsStorage.
func (s *storage) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	if err := s.AuthorizeClientIDSecret(ctx, id, secret); err != nil {
		return nil, err
	}
	return s.GetClientByClientID(ctx, id)
}

// ClientCredentialsTokenRequest implements op.ClientCredentialsStorage.
func (s *storage) ClientCredentialsTokenRequest(_ context.Context, id string, _ []string) (op.TokenRequest, error) {
	return &grant{client: id, subject: id, audience: []string{s.o.Resource}}, nil
}

// signingKey is the one key, as the library asks for it.
type signingKey struct {
	id  string
	key any
}

func keyOf(private ed25519.PrivateKey) signingKey {
	sum := sha256.Sum256(private.Public().(ed25519.PublicKey))
	return signingKey{hex.EncodeToString(sum[:8]), private}
}

func (k signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.EdDSA }
func (k signingKey) Algorithm() jose.SignatureAlgorithm          { return jose.EdDSA }
func (k signingKey) Use() string                                 { return "sig" }
func (k signingKey) Key() any                                    { return k.key }
func (k signingKey) ID() string                                  { return k.id }

// SigningKey implements op.AuthStorage.
func (s *storage) SigningKey(context.Context) (op.SigningKey, error) { return keyOf(s.o.Key), nil }

// SignatureAlgorithms implements op.AuthStorage.
func (s *storage) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.EdDSA}, nil
}

// KeySet implements op.AuthStorage.
func (s *storage) KeySet(context.Context) ([]op.Key, error) {
	k := keyOf(s.o.Key)
	k.key = s.o.Key.Public()
	return []op.Key{k}, nil
}
