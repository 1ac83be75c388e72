package bearer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"github.com/agentprocess-temporal/server/identity"
)

// Realm is the protection space that a 401 names.
const Realm = "agentprocess"

// credential is a token68 of RFC 7235 §2.1.
var credential = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

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

// Middleware lets through the requests whose credential verifies, with their
// caller in the context. Anything else is answered 401 with a WWW-Authenticate
// challenge that does not say what was wrong, and 503 when the credential could
// not be checked now; that is logged here, once.
func Middleware(v identity.Verifier, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, given, ok := fromHeader(r.Header)
		if !ok {
			refuse(w, given)
			return
		}
		caller, _, err := v.Verify(r.Context(), token)
		switch {
		case errors.Is(err, identity.ErrInvalidToken):
			refuse(w, true)
		case err != nil:
			slog.ErrorContext(r.Context(), "cannot verify a credential", "error", err)
			w.Header().Set("Retry-After", "1")
			answer(w, http.StatusServiceUnavailable, "temporarily_unavailable")
		default:
			next.ServeHTTP(w, r.WithContext(With(r.Context(), caller)))
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
		len(token) <= identity.MaxTokenBytes && credential.MatchString(token)
	return token, true, ok
}

// refuse answers 401. A request without any credential gets no error code
// (RFC 6750 §3.1): it may just not know yet that it needs one.
func refuse(w http.ResponseWriter, given bool) {
	challenge := fmt.Sprintf("Bearer realm=%q", Realm)
	code := "unauthorized"
	if given {
		code = "invalid_token"
		challenge += fmt.Sprintf(", error=%q", code)
	}
	w.Header().Set("WWW-Authenticate", challenge)
	answer(w, http.StatusUnauthorized, code)
}

func answer(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "{\"error\":%q}\n", code)
}
