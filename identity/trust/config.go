package trust

import (
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/agentprocess-temporal/server/identity"
)

// Config is a file of trusted issuers.
type Config struct {
	// Resource is the URL of the MCP endpoint as clients know it, which tokens
	// must be made out for (RFC 8707) unless an issuer says otherwise.
	Resource string
	// People says how people are known and resolved.
	People identity.Policy
	// Issuers are all that are trusted, at least one.
	Issuers []Issuer
	// Rate bounds the calls of each caller.
	Rate Rate
}

// Rate is a token bucket: Burst calls at once, and PerSecond on the long run.
type Rate struct {
	PerSecond float64
	Burst     int
}

// DefaultRate is that of a file that gives none: an agent at full speed stays
// below it, and a loop gone wild does not.
var DefaultRate = Rate{PerSecond: 50, Burst: 200}

// Issuer is one trusted issuer.
type Issuer struct {
	// URL is the exact value of `iss`.
	URL string
	// KeysURI is where its keys are; empty finds them through discovery.
	KeysURI string
	// Audiences are values of `aud`, one of which a token must have.
	Audiences []string
	// Algorithms are the signature algorithms that are taken; never `none`, and
	// never one whose key the issuer would have to share.
	Algorithms []jose.SignatureAlgorithm
	// Skew is how far its clock may be off.
	Skew time.Duration

	// Org is the organization of all its tokens; empty reads OrgClaim, whose
	// value is an organization's id, or stands for one in OrgValues unless that
	// is nil.
	Org       string
	OrgClaim  Claim
	OrgValues map[string]string

	// Subject, Email, Groups, Client and Scopes are where a token says so. Client
	// and Scopes may be nil: then the names that are in use are tried.
	Subject, Email, Groups Claim
	Client, Scopes         Claim
	// GroupNames translates values of Groups; nil takes them as they are, and
	// otherwise those that it does not have are left out.
	GroupNames map[string]string
	// VerifiedEmail asks that `email_verified` is true; otherwise it must not be
	// false.
	VerifiedEmail bool
	// RequiredScopes are scopes without which nothing can be called.
	RequiredScopes []string

	// HumanClients are the ids of the clients whose tokens are people.
	HumanClients []string
	// Agents are clients that have a name or a limit of their own, by client id.
	Agents map[string]Agent
	// Unlisted says what clients in neither of the two are.
	Unlisted Agent
	// RefuseUnlisted takes no tokens of those.
	RefuseUnlisted bool

	// Operators and Publishers are the people who are that, by group or scope.
	Operators, Publishers Grant
}

// Claim is where a value is: the names of nested claims from the outside in.
type Claim []string

// Agent is what is known of an agent's client.
type Agent struct {
	// Name is what runs record; empty makes one of the client id.
	Name string
	// Processes, unless nil, are all that it may find and claim steps of.
	Processes []string
}

// Grant names groups and scopes any of which is enough.
type Grant struct{ Groups, Scopes []string }

// DefaultAlgorithms are those of an issuer that lists none: what the identity
// providers in use sign with.
func DefaultAlgorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.PS256, jose.ES256, jose.EdDSA}
}

// asymmetric are the algorithms that a file may list.
var asymmetric = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

const (
	// maxSkew bounds Skew: more would let tokens live on.
	maxSkew = 2 * time.Minute
	// MaxConfigBytes bounds a file.
	MaxConfigBytes = 1 << 20
)

// Scopes lists every scope that the file gives a meaning, each once: what
// protected resource metadata offers.
func (c *Config) Scopes() []string {
	var all []string
	seen := map[string]bool{}
	for _, i := range c.Issuers {
		for _, list := range [][]string{i.RequiredScopes, i.Operators.Scopes, i.Publishers.Scopes} {
			for _, s := range list {
				if !seen[s] {
					seen[s] = true
					all = append(all, s)
				}
			}
		}
	}
	return all
}
