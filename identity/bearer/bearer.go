package bearer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/agentprocess-temporal/server/identity"
)

// Realm is the protection space that a 401 names.
const Realm = "agentprocess"

// isCredential reports whether a text is a token68 of RFC 7235 §2.1. Every call
// passes here, so it is no regular expression.
func isCredential(text string) bool {
	text = strings.TrimRight(text, "=")
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("._~+/-", rune(c)) {
			return false
		}
	}
	return text != ""
}

type key struct{}

// With returns a context that carries the caller.
func With(ctx context.Context, c identity.Caller) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// From returns the caller that [Middleware] proved; false where there is none.
func From(ctx context.Context) (identity.Caller, bool) {
	c, ok := ctx.Value(key{}).(identity.Caller)
	return c, ok
}

// Guard lets requests with a good credential through.
type Guard struct {
	Verifier identity.Verifier
	// Metadata, unless empty, is the URL of the protected resource metadata that
	// challenges point to (RFC 9728 §5.1).
	Metadata string
	// Refused, if set, is told of every request with a credential that is turned
	// away, and the error code it is answered with.
	Refused func(r *http.Request, code string)
	// Scope, if set, is the scope that a caller has to ask for to get a right,
	// empty where no scope gives it.
	Scope func(caller identity.Caller, right identity.Right) string
}

// insufficientScope is the error code of a good credential that is not enough.
const insufficientScope = "insufficient_scope"

// Middleware is a [Guard] that has a verifier and nothing else.
func Middleware(v identity.Verifier, next http.Handler) http.Handler {
	return Guard{Verifier: v}.Protect(next)
}

// Protect lets through the requests whose credential verifies, with their
// caller in the context. Anything else is answered 401 with a WWW-Authenticate
// challenge that does not say what was wrong, 403 where the credential is good
// and lacks a scope that everything needs, and 503 when it could not be checked
// now; that is logged here, once.
func (g Guard) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, given, ok := fromHeader(r.Header)
		if !ok {
			g.refuse(w, r, given)
			return
		}
		caller, _, err := g.Verifier.Verify(r.Context(), token)
		var scope *identity.ScopeError
		switch {
		case errors.Is(err, identity.ErrInvalidToken):
			g.refuse(w, r, true)
		case errors.As(err, &scope):
			g.tell(r, insufficientScope)
			g.challenge(w, insufficientScope, "scope", strings.Join(scope.Scopes, " "))
			answer(w, http.StatusForbidden, insufficientScope)
		case err != nil:
			slog.ErrorContext(r.Context(), "cannot verify a credential", "error", err)
			w.Header().Set("Retry-After", "1")
			answer(w, http.StatusServiceUnavailable, "temporarily_unavailable")
		default:
			ctx := context.WithValue(With(r.Context(), caller), guardKey{}, g)
			next.ServeHTTP(w, r.WithContext(ctx))
		}
	})
}

// fromHeader reads the one credential of a request; given is false when the
// request brings none at all.
func fromHeader(h http.Header) (token string, given, ok bool) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", false, false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.Trim(token, " ")
	ok = len(values) == 1 && strings.EqualFold(scheme, "Bearer") &&
		len(token) <= identity.MaxTokenBytes && isCredential(token)
	return token, true, ok
}

// refuse answers 401. A request without any credential gets no error code
// (RFC 6750 §3.1): it may just not know yet that it needs one.
func (g Guard) refuse(w http.ResponseWriter, r *http.Request, given bool) {
	if !given {
		g.challenge(w, "")
		answer(w, http.StatusUnauthorized, "unauthorized")
		return
	}
	const code = "invalid_token"
	g.tell(r, code)
	g.challenge(w, code)
	answer(w, http.StatusUnauthorized, code)
}

func (g Guard) tell(r *http.Request, code string) {
	if g.Refused != nil {
		g.Refused(r, code)
	}
}

// challenge sets WWW-Authenticate; more are pairs of further parameters. All
// values are ours or of the configuration, and need no escapes.
func (g Guard) challenge(w http.ResponseWriter, code string, more ...string) {
	var b strings.Builder
	fmt.Fprintf(&b, "Bearer realm=%q", Realm)
	if code != "" {
		more = append([]string{"error", code}, more...)
	}
	if g.Metadata != "" {
		more = append(more, "resource_metadata", g.Metadata)
	}
	for i := 0; i+1 < len(more); i += 2 {
		fmt.Fprintf(&b, ", %s=%q", more[i], more[i+1])
	}
	w.Header().Set("WWW-Authenticate", b.String())
}

func answer(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "{\"error\":%q}\n", code)
}
