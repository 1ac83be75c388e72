package trust

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/jwks"
)

// Options adjust a verifier; the zero value is that of a server.
type Options struct {
	Log *slog.Logger
	// Now is the clock; nil is the real one.
	Now func() time.Time
	// Keys adjusts how keys are fetched; URI is each issuer's own.
	Keys jwks.Options
}

// Verifier takes the tokens of the issuers of a [Config].
type Verifier struct {
	issuers    map[string]*source
	algorithms []jose.SignatureAlgorithm
	now        func() time.Time
}

type source struct {
	Issuer
	keys *jwks.Set
	// taken are the names of agents that no client may have by its id.
	taken map[string]bool
	// several is set where other issuers are trusted, too.
	several bool
}

// New makes the verifier of a configuration. Keys are fetched when the first
// token needs them.
func New(c *Config, o Options) *Verifier {
	if o.Now == nil {
		o.Now = time.Now
	}
	v := &Verifier{issuers: map[string]*source{}, now: o.Now}
	taken := map[string]bool{}
	for _, i := range c.Issuers {
		keys := o.Keys
		keys.URI = i.KeysURI
		if keys.Log == nil {
			keys.Log = o.Log
		}
		if keys.Now == nil {
			keys.Now = o.Now
		}
		for _, a := range i.Agents {
			taken[a.Name] = true
		}
		v.issuers[i.URL] = &source{Issuer: i, keys: jwks.New(i.URL, keys), taken: taken, several: len(c.Issuers) > 1}
		for _, a := range i.Algorithms {
			if !slices.Contains(v.algorithms, a) {
				v.algorithms = append(v.algorithms, a)
			}
		}
	}
	return v
}

// Verify implements identity.Verifier. Besides ErrInvalidToken it returns an
// *identity.ScopeError for a good token that lacks a required scope.
func (v *Verifier) Verify(ctx context.Context, bearer string) (identity.Caller, time.Time, error) {
	c, until, err := v.verify(ctx, bearer)
	var scope *identity.ScopeError
	switch {
	case err == nil:
		return c, until, nil
	case errors.As(err, &scope), errors.Is(err, errUnavailable):
		return identity.Caller{}, time.Time{}, err
	}
	return identity.Caller{}, time.Time{}, identity.ErrInvalidToken
}

var (
	errUnavailable = errors.New("the token cannot be checked now")
	errRefused     = errors.New("refused")
)

// Trusts reports whether a token says that it is of one of the issuers. It
// proves nothing.
func (v *Verifier) Trusts(issuer string) bool { return v.issuers[issuer] != nil }

func (v *Verifier) verify(ctx context.Context, bearer string) (identity.Caller, time.Time, error) {
	none := identity.Caller{}
	if len(bearer) > identity.MaxTokenBytes {
		return none, time.Time{}, errRefused
	}
	token, err := jose.ParseSignedCompact(bearer, v.algorithms)
	if err != nil {
		return none, time.Time{}, err
	}
	// The issuer's own word, to know whose keys to ask for; it is proved below.
	var said struct {
		Issuer string `json:"iss"`
	}
	if err := json.Unmarshal(token.UnsafePayloadWithoutVerification(), &said); err != nil {
		return none, time.Time{}, err
	}
	from := v.issuers[said.Issuer]
	head := token.Signatures[0].Protected
	if from == nil || !from.takes(head) {
		return none, time.Time{}, errRefused
	}
	key, err := from.keys.Key(ctx, head.KeyID)
	switch {
	case errors.Is(err, jwks.ErrUnknownKey):
		return none, time.Time{}, err
	case err != nil:
		return none, time.Time{}, errors.Join(errUnavailable, err)
	case key.Algorithm != "" && key.Algorithm != head.Algorithm:
		return none, time.Time{}, errRefused
	}
	payload, err := token.Verify(key.Key)
	if err != nil {
		return none, time.Time{}, err
	}
	return from.read(payload, v.now())
}

// takes reports whether a header is one of an access token that may be looked
// at further.
func (s *source) takes(h jose.Header) bool {
	if h.KeyID == "" || !slices.Contains(s.Algorithms, jose.SignatureAlgorithm(h.Algorithm)) {
		return false
	}
	// What a token declares critical and we do not know, we must not skip
	// (RFC 7515 §4.1.11); we know of nothing.
	if _, critical := h.ExtraHeaders["crit"]; critical {
		return false
	}
	// Tokens for other purposes, such as logout+jwt, have types of their own.
	switch typ, given := h.ExtraHeaders[jose.HeaderType]; {
	case !given:
		return true
	default:
		name, _ := typ.(string)
		name = strings.TrimPrefix(strings.ToLower(name), "application/")
		return name == "jwt" || name == "at+jwt"
	}
}

// read turns the payload of a genuine token into a caller.
func (s *source) read(payload []byte, now time.Time) (identity.Caller, time.Time, error) {
	var std jwt.Claims
	claims := claims{}
	// This decoder takes no claim twice and no name in another case.
	if err := errors.Join(json.Unmarshal(payload, &std), json.Unmarshal(payload, &claims)); err != nil {
		return identity.Caller{}, time.Time{}, err
	}
	if std.Expiry == nil {
		return identity.Caller{}, time.Time{}, errRefused
	}
	err := std.ValidateWithLeeway(jwt.Expected{Issuer: s.URL, AnyAudience: s.Audiences, Time: now}, s.Skew)
	if err != nil {
		return identity.Caller{}, time.Time{}, err
	}
	c, err := s.caller(claims)
	return c, std.Expiry.Time(), err
}
