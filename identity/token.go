package identity

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// ErrInvalidToken is the one answer to a credential that proves nothing. It
// never says why: the reason helps only who forges one.
var ErrInvalidToken = errors.New("invalid token")

// ScopeError is the answer to a credential that is good, and lacks a scope
// without which nothing can be called (RFC 6750 §3.1, `insufficient_scope`).
type ScopeError struct{ Scopes []string }

// Error names the scopes that are needed.
func (e *ScopeError) Error() string {
	return "the token needs the scope " + strings.Join(e.Scopes, " ")
}

// MaxTokenBytes bounds the text of a credential; nothing longer is read.
const MaxTokenBytes = 8 << 10

// Skew is how far the clocks of issuer and verifier may differ.
const Skew = 30 * time.Second

// Verifier proves who is calling from a bearer credential, and says when the
// proof ends. The error is [ErrInvalidToken] for a credential that does not
// verify, and a *[ScopeError] for one that does and allows too little; any other
// error means that it could not be checked now. It is safe for
// concurrent use.
type Verifier interface {
	Verify(ctx context.Context, bearer string) (Caller, time.Time, error)
}

// claims of a token. Kind is signed: it is what the issuer knows, not what the
// caller says.
type claims struct {
	jwt.RegisteredClaims
	Org       string   `json:"org"`
	Kind      Kind     `json:"kind"`
	Groups    []string `json:"groups,omitempty"`
	Operator  bool     `json:"operator,omitempty"`
	Publisher bool     `json:"publisher,omitempty"`
}

// Issuer signs tokens for development and tests: JWTs under one Ed25519 key.
type Issuer struct {
	key              ed25519.PrivateKey
	issuer, audience string
	now              func() time.Time
}

// NewIssuer makes an Issuer whose tokens carry issuer and audience.
func NewIssuer(key ed25519.PrivateKey, issuer, audience string) *Issuer {
	return &Issuer{key: key, issuer: issuer, audience: audience, now: time.Now}
}

// Issue signs a token that proves c until ttl from now, to the second. It
// refuses a caller that no verifier would take, and a ttl under one second.
func (i *Issuer) Issue(c Caller, ttl time.Duration) (string, error) {
	c, err := checked(c)
	if err != nil {
		return "", fmt.Errorf("issue a token: %w", err)
	}
	if ttl < time.Second {
		return "", errors.New("issue a token: it would end at once")
	}
	now := i.now()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    i.issuer,
			Audience:  jwt.ClaimStrings{i.audience},
			Subject:   c.Subject,
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
			ID:        rand.Text(),
		},
		Org: c.Org, Kind: c.Kind, Groups: c.Groups, Operator: c.Operator, Publisher: c.Publisher,
	})
	token.Header["kid"] = keyID(i.key.Public().(ed25519.PublicKey))
	return token.SignedString(i.key)
}

type keyVerifier struct {
	keys   map[string]ed25519.PublicKey
	parser *jwt.Parser
}

// NewVerifier verifies the tokens of an [Issuer] with the same issuer and
// audience, signed under any of keys.
func NewVerifier(issuer, audience string, keys ...ed25519.PublicKey) Verifier {
	return newVerifier(time.Now, issuer, audience, keys...)
}

func newVerifier(now func() time.Time, issuer, audience string, keys ...ed25519.PublicKey) Verifier {
	v := &keyVerifier{
		keys: make(map[string]ed25519.PublicKey, len(keys)),
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
			jwt.WithIssuer(issuer),
			jwt.WithAudience(audience),
			jwt.WithExpirationRequired(),
			jwt.WithIssuedAt(),
			jwt.WithLeeway(Skew),
			jwt.WithTimeFunc(now),
			jwt.WithStrictDecoding(),
		),
	}
	for _, k := range keys {
		v.keys[keyID(k)] = k
	}
	return v
}

func (v *keyVerifier) Verify(_ context.Context, bearer string) (Caller, time.Time, error) {
	if len(bearer) > MaxTokenBytes {
		return Caller{}, time.Time{}, ErrInvalidToken
	}
	var cl claims
	_, err := v.parser.ParseWithClaims(bearer, &cl, func(t *jwt.Token) (any, error) {
		// What a token declares critical and we do not know, we must not skip
		// (RFC 7515 §4.1.11); we know of nothing.
		if _, critical := t.Header["crit"]; critical {
			return nil, ErrInvalidToken
		}
		kid, _ := t.Header["kid"].(string)
		key, ok := v.keys[kid]
		if !ok {
			return nil, ErrInvalidToken
		}
		return key, nil
	})
	if err != nil || cl.IssuedAt == nil {
		return Caller{}, time.Time{}, ErrInvalidToken
	}
	c, err := checked(Caller{
		Org: cl.Org, Subject: cl.Subject, Kind: cl.Kind,
		Groups: cl.Groups, Operator: cl.Operator, Publisher: cl.Publisher,
	})
	if err != nil {
		return Caller{}, time.Time{}, ErrInvalidToken
	}
	return c, cl.ExpiresAt.Time, nil
}

// Checked returns c as the rest of the server may rely on it, for verifiers of
// other packages. It is [ErrInvalidToken] for a caller that no token may prove.
func Checked(c Caller) (Caller, error) {
	c, err := checked(c)
	if err != nil {
		return Caller{}, ErrInvalidToken
	}
	return c, nil
}

// checked returns c as the rest of the server may rely on it. An agent has no
// groups and no powers of a person: a token that says so is a mistake of its
// issuer, and is refused rather than trimmed.
func checked(c Caller) (Caller, error) {
	if !orgPattern.MatchString(c.Org) {
		return Caller{}, errors.New("the organization must be " + orgForm)
	}
	switch c.Kind {
	case Agent:
		if !agentPattern.MatchString(c.Subject) || c.Subject == serverSubject {
			return Caller{}, errors.New("an agent's name must be " + agentForm)
		}
		if len(c.Groups) > 0 || c.Operator || c.Publisher {
			return Caller{}, errors.New("an agent has no groups, and is no operator or publisher")
		}
	case Person:
		email, ok := NormalizeEmail(c.Subject)
		if !ok {
			return Caller{}, errors.New("a person's subject must be an email address")
		}
		c.Subject = email
		for _, g := range c.Groups {
			if !groupPattern.MatchString(g) || reserved(g) {
				return Caller{}, errors.New("a group must be " + groupForm + ", and is never " + OperatorGroup)
			}
		}
	default:
		return Caller{}, errors.New("the kind must be agent or person")
	}
	c.Groups = slices.Clone(c.Groups)
	return c, nil
}

// keyID names a public key by its hash, so that it needs no configuration.
func keyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}
