package devlogin_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/agentprocess-temporal/server/identity/devlogin"
)

const formType = "application/x-www-form-urlencoded"

// asks is a good request to sign in with.
func (s *site) asks(client string) url.Values {
	return url.Values{
		"client_id": {client}, "redirect_uri": {callback}, "response_type": {"code"}, "state": {"x"}, "scope": {"openid"},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())}, "code_challenge_method": {"S256"}, "resource": {resource},
	}
}

// refusedAt asks, and must be refused with nowhere to go.
func (s *site) refusedAt(query, name string) {
	s.t.Helper()
	noFollow := *browser
	noFollow.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := noFollow.Get(s.url + query) //nolint:noctx // in a test
	require.NoError(s.t, err, name)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(s.t, err, name)
	require.GreaterOrEqual(s.t, res.StatusCode, 400, "%s: %s", name, res.Header.Get("Location"))
	require.Empty(s.t, res.Header.Get("Location"), name)
	require.NotContains(s.t, string(text), "<form", name)
}

func TestAParameterGivenTwiceOrInAnotherCaseWeakensNothing(t *testing.T) {
	s := start(t)
	id, _ := s.register(application)
	good := s.asks(id)
	for name, second := range map[string]string{
		"code_challenge_method": "plain", "code_challenge": "", "response_type": "token", "redirect_uri": "https://evil.example/cb",
		"client_id": devlogin.CommandLine, "scope": "x", "state": "y",
	} {
		s.refusedAt("/authorize?"+good.Encode()+"&"+url.Values{name: {second}}.Encode(), name)
		s.refusedAt("/authorize?"+url.Values{name: {second}}.Encode()+"&"+good.Encode(), name+" before")
	}
	s.refusedAt("/authorize?"+good.Encode()+"&resource=https%3A%2F%2Fother.example%2F", "another resource, too")

	// A name in another case is another name, and ignored: PKCE stays what it was.
	c, verifier := s.config(id), oauth2.GenerateVerifier()
	challenge := oauth2.S256ChallengeFromVerifier(verifier)
	for range 20 { // the order of parameters is by chance
		code := s.signIn(c, "mira@example.com", oauth2.S256ChallengeOption(verifier),
			oauth2.SetAuthURLParam("CODE_CHALLENGE_METHOD", "plain"), oauth2.SetAuthURLParam("Code_challenge", ""),
			oauth2.SetAuthURLParam("Redirect_uri", "https://evil.example/cb"))
		_, err := c.Exchange(t.Context(), code, oauth2.VerifierOption(challenge))
		require.Error(t, err, "the challenge is no verifier")
	}

	// The same at the endpoint for tokens.
	ask := func(body string) int {
		res, _ := s.post("/oauth/token", formType, body)
		return res.StatusCode
	}
	form := func(verifier string) string {
		return url.Values{
			"grant_type": {"authorization_code"}, "client_id": {id}, "redirect_uri": {callback}, "code_verifier": {verifier},
			"code": {s.signIn(c, "mira@example.com", oauth2.S256ChallengeOption(verifier))},
		}.Encode()
	}
	require.Equal(t, http.StatusOK, ask(form(verifier)))
	require.Equal(t, http.StatusBadRequest, ask(form(verifier)+"&client_id="+devlogin.CommandLine))
	require.Equal(t, http.StatusBadRequest, ask(form(verifier)+"&resource=https%3A%2F%2Fother.example%2F"))
	res, _ := s.post("/oauth/token?"+form(verifier), formType, "")
	require.Equal(t, http.StatusBadRequest, res.StatusCode, "in the address, where logs have it")
}

func TestABrowserIsSentToAnApplicationOnlyAfterSomebodySignedIn(t *testing.T) {
	s := start(t)
	id, status := s.register(`{"redirect_uris":["https://evil.example/cb"],"token_endpoint_auth_method":"none"}`)
	require.Equal(t, http.StatusCreated, status)
	for name, change := range map[string]url.Values{
		"asked not to show a page":    {"prompt": {"none"}, "id_token_hint": {"x"}},
		"contradictory prompts":       {"prompt": {"none login"}},
		"a hint that is none":         {"id_token_hint": {"x.y.z"}},
		"an answer in a form":         {"response_mode": {"form_post"}},
		"an answer in the fragment":   {"response_mode": {"fragment"}},
		"an unknown flow":             {"response_type": {"code token"}},
		"a method that is none":       {"code_challenge_method": {"S512"}},
		"an age that is none":         {"max_age": {"-1"}},
		"a request by reference":      {"request_uri": {"http://127.0.0.1:1/x"}, "response_type": {""}},
		"another resource":            {"resource": {"https://other.example/"}},
		"an address with a dot":       {"redirect_uri": {"https://evil.example/cb/.."}},
		"an address with a parameter": {"redirect_uri": {"https://evil.example/cb?x"}},
	} {
		asks := s.asks(id)
		asks.Set("redirect_uri", "https://evil.example/cb")
		maps.Copy(asks, change)
		s.refusedAt("/authorize?"+asks.Encode(), name)
	}
	asks := s.asks(id)
	asks.Set("redirect_uri", "https://evil.example/cb")
	res, text := s.get(s.url + "/authorize?" + asks.Encode())
	require.Equal(t, http.StatusOK, res.StatusCode, text)
	begun := res.Request.URL.Query().Get("id")
	s.refusedAt("/authorize/callback?id="+begun, "nobody has signed in")
	s.refusedAt("/authorize/callback?id=x&id="+begun, "nor that way")
	s.refusedAt("/authorize/callback?ID="+begun, "nor that way")
	s.refusedAt("/login?id=https://evil.example/", "a page that is none")
}

func TestARedirectIsToTheAddressThatWasRegistered(t *testing.T) {
	s := start(t)
	id, _ := s.register(application)
	for _, address := range []string{
		"http://127.0.0.1:7777@evil.example/callback", "http://127.0.0.1.evil.example/callback", "http://evil.example/callback",
		"http://user@127.0.0.1:7777/callback", "https://127.0.0.1:7777/callback", "http://localhost:7777/callback", "http://[::1]:7777/callback",
		"http://127.0.0.1:7777/callback/", "http://127.0.0.1:7777/callback?next=https://evil.example", "http://127.0.0.1:7777/callback#x",
		"http://127.0.0.1:7777/callback/../other", "http://127.0.0.1:7777/%63allback", "http://127.0.0.1:7777//evil.example/callback",
		"HTTP://127.0.0.1:7777/callback", "http:/127.0.0.1:7777/callback", "//127.0.0.1:7777/callback", "http://127.0.0.1:7777\\@evil.example/callback",
		"http://127.0.0.2:7777/callback", "http://2130706433:7777/callback", "http://127.1:7777/callback", " " + callback, callback + " ",
		"javascript:alert(1)", "",
	} {
		asks := s.asks(id)
		asks.Set("redirect_uri", address)
		s.refusedAt("/authorize?"+asks.Encode(), address)
	}
	// A native application takes a port that is free (RFC 8252 §7.3).
	asks := s.asks(id)
	asks.Set("redirect_uri", "http://127.0.0.1:51234/callback")
	res, text := s.get(s.url + "/authorize?" + asks.Encode())
	require.Equal(t, http.StatusOK, res.StatusCode, text)

	// And the code is redeemed with the same one.
	c, verifier := s.config(id), oauth2.GenerateVerifier()
	code := s.signIn(c, "mira@example.com", oauth2.S256ChallengeOption(verifier))
	c.RedirectURL = "http://127.0.0.1:7778/callback"
	_, err := c.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	require.Error(t, err)
}

func TestWhatIsSentTwiceEndsTheSignInItGoesBackTo(t *testing.T) {
	s := start(t)
	application := httptest.NewServer(nil)
	t.Cleanup(application.Close)
	described := application.URL + "/client.json"
	application.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"client_id":%q,"redirect_uris":[%q]}`, described, callback)
	})
	registered, _ := s.register(`{"redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"none"}`)
	for _, id := range []string{registered, described} {
		c, verifier := s.config(id), oauth2.GenerateVerifier()
		code := s.signIn(c, "mira@example.com", oauth2.S256ChallengeOption(verifier))
		exchange := func() (*oauth2.Token, error) { return c.Exchange(t.Context(), code, oauth2.VerifierOption(verifier)) }
		refresh := func(token *oauth2.Token) (*oauth2.Token, error) {
			return c.TokenSource(t.Context(), &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
		}
		first, err := exchange()
		require.NoError(t, err)
		other, _ := s.tokens(id, "mira@example.com") // another sign-in
		second, err := refresh(first)
		require.NoError(t, err)
		_, err = exchange()
		require.Error(t, err, "a code twice")
		_, err = refresh(second)
		require.Error(t, err, "and what was granted on it is over")

		third, err := refresh(other)
		require.NoError(t, err, "not that of another sign-in")
		_, err = refresh(other)
		require.Error(t, err, "a refresh token twice")
		_, err = refresh(third)
		require.Error(t, err, "and the one after it is over")
	}
}

func TestPagesOfOtherOriginsCannotHaveTheServerAskAnyAddress(t *testing.T) {
	s := start(t)
	var asked atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(inside.Close)
	var answers []string
	for _, id := range []string{inside.URL + "/x", "http://127.0.0.1:1/x"} {
		for _, grant := range []url.Values{
			{"grant_type": {"client_credentials"}}, {"grant_type": {"refresh_token"}, "refresh_token": {"x"}},
			{"grant_type": {"authorization_code"}, "code": {"x"}, "code_verifier": {"x"}, "redirect_uri": {callback}},
		} {
			basic := "Basic " + basicOf(id)
			for _, in := range []func() (*http.Response, string){
				func() (*http.Response, string) {
					return s.post("/oauth/token", formType, with(grant, "client_id", id).Encode())
				},
				func() (*http.Response, string) {
					return s.post("/oauth/token", formType, with(with(grant, "client_id", id), "client_secret", "x").Encode())
				},
				func() (*http.Response, string) {
					return s.post("/oauth/token", formType, grant.Encode(), "Authorization", basic)
				},
			} {
				res, text := in()
				require.GreaterOrEqual(t, res.StatusCode, 400, text)
				answers = append(answers, text)
			}
		}
	}
	require.Zero(t, asked.Load())
	require.Equal(t, answers[:len(answers)/2], answers[len(answers)/2:], "whether anything is there, no answer tells")

	// Where a browser is sent, the address is asked, and what it says is not told.
	s.refusedAt("/authorize?"+s.asks(inside.URL+"/x").Encode(), "not a document")
	require.EqualValues(t, 1, asked.Load())
	for _, id := range []string{
		"http://169.254.169.254/latest/meta-data", "https://169.254.169.254/latest/meta-data", "https://10.0.0.1/x", "https://[::ffff:10.0.0.1]/x",
		"http://0.0.0.0" + inside.URL[strings.LastIndex(inside.URL, ":"):] + "/x", "gopher://127.0.0.1:1/x", "file:///etc/passwd", "https://user@127.0.0.1/x",
	} {
		s.refusedAt("/authorize?"+s.asks(id).Encode(), id)
	}
	require.EqualValues(t, 1, asked.Load())
}

func with(v url.Values, name, value string) url.Values {
	changed := maps.Clone(v)
	changed.Set(name, value)
	return changed
}

func basicOf(id string) string {
	r, _ := http.NewRequest(http.MethodGet, "/", nil) //nolint:noctx // never sent
	r.SetBasicAuth(url.QueryEscape(id), "x")
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")
}
