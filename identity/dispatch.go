package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// Dispatch has a token proved by the one of several verifiers that stands for
// the issuer it names, and by other if none does. The issuer's name only
// chooses: the chosen verifier proves it, with everything else.
func Dispatch(byIssuer func(issuer string) Verifier, other Verifier) Verifier {
	return dispatcher{byIssuer, other}
}

type dispatcher struct {
	byIssuer func(string) Verifier
	other    Verifier
}

func (d dispatcher) Verify(ctx context.Context, bearer string) (Caller, time.Time, error) {
	v := d.other
	if chosen := d.byIssuer(issuerOf(bearer)); chosen != nil {
		v = chosen
	}
	if v == nil {
		return Caller{}, time.Time{}, ErrInvalidToken
	}
	return v.Verify(ctx, bearer)
}

// issuerOf reads what a JWT says, empty for what is none.
func issuerOf(bearer string) string {
	parts := strings.SplitN(bearer, ".", 4)
	if len(bearer) > MaxTokenBytes || len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var said struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(payload, &said) != nil {
		return ""
	}
	return said.Issuer
}
