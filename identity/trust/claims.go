package trust

import "strings"

// at is the value of a claim, nil where there is none.
func (c claims) at(path Claim) any {
	var value any = map[string]any(c)
	for _, name := range path {
		m, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = m[name]
	}
	return value
}

func (c claims) text(path Claim) (string, bool) {
	s, ok := c.at(path).(string)
	return s, ok && plain(s)
}

// plain reports whether a text may be kept and shown: Postgres takes no NUL, and
// nothing here needs a control character.
func plain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' })
}

// list is a claim that has several texts, or one.
func (c claims) list(path Claim) []string {
	switch v := c.at(path).(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, item := range v {
			if s, ok := item.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// clientClaims are the names under which issuers say to whom a token was issued.
var clientClaims = []string{"azp", "client_id", "cid", "appid"}

// client is the client id of the token. Where no claim is configured all that
// are in use must agree: a token that names two clients is taken for neither.
func (c claims) client(path Claim) (string, bool) {
	if path != nil {
		s, ok := c.text(path)
		return s, ok && s != ""
	}
	id := ""
	for _, name := range clientClaims {
		value, given := c[name]
		if !given {
			continue
		}
		s, ok := value.(string)
		if !ok || !plain(s) || s == "" || id != "" && id != s {
			return "", false
		}
		id = s
	}
	return id, id != ""
}

// scopes are those of the token, whatever of the two usual forms they have.
func (c claims) scopes(path Claim) []string {
	paths := []Claim{path}
	if path == nil {
		paths = []Claim{{"scope"}, {"scp"}}
	}
	var all []string
	for _, p := range paths {
		for _, s := range c.list(p) {
			all = append(all, strings.Fields(s)...)
		}
	}
	return all
}

// byItself reports whether the client got the token for itself, as client
// credentials do (RFC 9068 §2.2), and not for somebody who signed in. Providers
// differ in how they say so.
func (c claims) byItself(client, subject string) bool {
	text := func(name string) string { s, _ := c[name].(string); return s }
	return subject == client ||
		subject == client+"@clients" || // Auth0
		text("gty") == "client-credentials" || // Auth0
		text("idtyp") == "app" || // Entra ID
		text("oid") != "" && text("oid") == text("sub") || // Entra ID
		text("grant_type") == "client_credentials" ||
		strings.HasPrefix(text("preferred_username"), "service-account-") // Keycloak
}
