package devlogin_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/devlogin"
	"github.com/agentprocess-temporal/server/identity/trust"
)

const (
	resource = "http://127.0.0.1:8080/mcp"
	callback = "http://127.0.0.1:7777/callback"
	people   = `organization: acme
agents: [a1]
people:
  - { email: mira@example.com, groups: [finance] }
  - { email: ops@example.com, operator: true }
`
)

// site is a running provider, and a server's view of its tokens.
type site struct {
	t         *testing.T
	url       string
	provider  *devlogin.Provider
	directory *identity.Directory
	verifier  identity.Verifier
}

var key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))

func start(t *testing.T) *site {
	t.Helper()
	s := &site{t: t}
	s.setDirectory(people)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.provider.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	s.url = server.URL
	s.restart()
	config, err := trust.ParseConfig([]byte(s.provider.IdentityFile("acme")))
	require.NoError(t, err)
	known := &identity.People{Policy: config.People, Directories: identity.NewRegistry(s.directory)}
	s.verifier = known.Verifier(trust.New(config, trust.Options{}))
	return s
}

// restart forgets everything that is in memory.
func (s *site) restart() {
	var err error
	s.provider, err = devlogin.New(devlogin.Options{
		Issuer: s.url, Resource: resource, Key: key, Directory: func() *identity.Directory { return s.directory },
	})
	require.NoError(s.t, err)
}

func (s *site) setDirectory(text string) {
	var err error
	s.directory, err = identity.ParseDirectory([]byte(text))
	require.NoError(s.t, err)
}

func (s *site) verify(token string) identity.Caller {
	s.t.Helper()
	c, _, err := s.verifier.Verify(s.t.Context(), token)
	require.NoError(s.t, err)
	return c
}

// browser follows redirects within the provider only.
var browser = &http.Client{CheckRedirect: func(r *http.Request, _ []*http.Request) error {
	if r.URL.Port() == "7777" {
		return http.ErrUseLastResponse
	}
	return nil
}}

func (s *site) get(address string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, address, nil)
	require.NoError(s.t, err)
	return s.do(req)
}

func (s *site) post(path, contentType, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	req.Header.Set("Content-Type", contentType)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return s.do(req)
}

func (s *site) do(req *http.Request) (*http.Response, string) {
	s.t.Helper()
	res, err := browser.Do(req)
	require.NoError(s.t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res, string(text)
}

func (s *site) register(body string) (id string, status int) {
	s.t.Helper()
	res, text := s.post("/register", "application/json", body)
	var answer struct {
		ID string `json:"client_id"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(text), &answer))
	return answer.ID, res.StatusCode
}

func (s *site) config(client string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: client, RedirectURL: callback,
		Endpoint: oauth2.Endpoint{AuthURL: s.url + "/authorize", TokenURL: s.url + "/oauth/token", AuthStyle: oauth2.AuthStyleInParams},
	}
}

// begin is the id of a sign-in, once its page has been shown.
func (s *site) begin(c *oauth2.Config, options ...oauth2.AuthCodeOption) string {
	s.t.Helper()
	res, text := s.get(c.AuthCodeURL("the state", options...))
	require.Equal(s.t, http.StatusOK, res.StatusCode, text)
	require.Contains(s.t, text, "mira@example.com")
	require.Contains(s.t, res.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
	return res.Request.URL.Query().Get("id")
}

// signIn signs in as somebody, and returns the code.
func (s *site) signIn(c *oauth2.Config, email string, options ...oauth2.AuthCodeOption) string {
	s.t.Helper()
	res, text := s.post("/login", "application/x-www-form-urlencoded", url.Values{"id": {s.begin(c, options...)}, "email": {email}}.Encode())
	require.Equal(s.t, http.StatusFound, res.StatusCode, text)
	to, err := url.Parse(res.Header.Get("Location"))
	require.NoError(s.t, err)
	require.Equal(s.t, callback, to.Scheme+"://"+to.Host+to.Path)
	require.Equal(s.t, "the state", to.Query().Get("state"))
	return to.Query().Get("code")
}

func (s *site) tokens(client, email string) (*oauth2.Token, *oauth2.Config) {
	s.t.Helper()
	c, verifier := s.config(client), oauth2.GenerateVerifier()
	code := s.signIn(c, email, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", resource))
	token, err := c.Exchange(s.t.Context(), code, oauth2.VerifierOption(verifier), oauth2.SetAuthURLParam("resource", resource))
	require.NoError(s.t, err)
	return token, c
}

const application = `{"client_name":"My <Client>","redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"none","grant_types":["authorization_code"]}`

func TestAClientThatRegistersItselfIsAnAgentWhoeverSignsIn(t *testing.T) {
	s := start(t)
	id, status := s.register(application)
	require.Equal(t, http.StatusCreated, status)
	for _, email := range []string{"mira@example.com", "ops@example.com"} {
		token, _ := s.tokens(id, email)
		c := s.verify(token.AccessToken)
		require.Equal(t, identity.Agent, c.Kind)
		require.Equal(t, email, c.OnBehalfOf)
		require.False(t, c.Operator)
	}
}

func TestTheCommandLineIsAPerson(t *testing.T) {
	s := start(t)
	token, _ := s.tokens(devlogin.CommandLine, "mira@example.com")
	require.Equal(t, identity.Caller{
		Org: "acme", Subject: "mira@example.com", Kind: identity.Person, Client: devlogin.CommandLine, Groups: []string{"finance"},
	}, s.verify(token.AccessToken))
}

func TestAnAgentGetsATokenForItself(t *testing.T) {
	s := start(t)
	c := clientcredentials.Config{ClientID: "a1", ClientSecret: s.provider.Secrets()["a1"], TokenURL: s.url + "/oauth/token"}
	token, err := c.Token(t.Context())
	require.NoError(t, err)
	require.Equal(t, identity.Caller{Org: "acme", Subject: "a1", Kind: identity.Agent, Client: "a1"}, s.verify(token.AccessToken))
	for _, wrong := range [][2]string{{"a1", "guess"}, {"a1", ""}, {"a2", s.provider.Secrets()["a1"]}, {devlogin.CommandLine, ""}} {
		c.ClientID, c.ClientSecret = wrong[0], wrong[1]
		_, err := c.Token(t.Context())
		require.Error(t, err, wrong[0])
	}
}

func TestARefreshTokenIsGoodOnceAndWhileItsPersonIsThere(t *testing.T) {
	s := start(t)
	token, c := s.tokens(devlogin.CommandLine, "mira@example.com")
	refresh := func(with string) (*oauth2.Token, error) {
		return c.TokenSource(t.Context(), &oauth2.Token{RefreshToken: with}).Token()
	}
	next, err := refresh(token.RefreshToken)
	require.NoError(t, err)
	require.NotEqual(t, token.RefreshToken, next.RefreshToken)
	require.Equal(t, identity.Person, s.verify(next.AccessToken).Kind)
	_, err = refresh(token.RefreshToken)
	require.Error(t, err, "used already")
	other, _ := s.register(application)
	c.ClientID = other
	_, err = refresh(next.RefreshToken)
	require.Error(t, err, "of another client")
	c.ClientID = devlogin.CommandLine
	s.setDirectory("organization: acme\npeople: []\n")
	_, err = refresh(next.RefreshToken)
	require.Error(t, err, "nobody of the directory any more")
}

func TestARegisteredClientLivesThroughARestart(t *testing.T) {
	s := start(t)
	id, _ := s.register(application)
	s.restart()
	s.tokens(id, "mira@example.com")
	s.forbidsClient(id[:len(id)-2] + "AA")
	s.forbidsClient("dyn_e30.AAAA")
}

func (s *site) forbidsClient(id string) {
	s.t.Helper()
	res, _ := s.get(s.config(id).AuthCodeURL("x", oauth2.S256ChallengeOption(oauth2.GenerateVerifier())))
	require.GreaterOrEqual(s.t, res.StatusCode, 400, id)
}

func TestACodeIsGoodOnceForWhoBeganAndProvesIt(t *testing.T) {
	s := start(t)
	id, _ := s.register(application)
	c, verifier := s.config(id), oauth2.GenerateVerifier()
	challenge := oauth2.S256ChallengeOption(verifier)
	_, err := c.Exchange(t.Context(), s.signIn(c, "mira@example.com", challenge), oauth2.VerifierOption(oauth2.GenerateVerifier()))
	require.Error(t, err, "another verifier")
	_, err = c.Exchange(t.Context(), s.signIn(c, "mira@example.com", challenge))
	require.Error(t, err, "no verifier")
	code := s.signIn(c, "mira@example.com", challenge)
	_, err = c.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	require.NoError(t, err)
	_, err = c.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	require.Error(t, err, "used already")
	other, _ := s.register(strings.Replace(application, "My", "Another", 1))
	code = s.signIn(c, "mira@example.com", challenge)
	_, err = s.config(other).Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	require.Error(t, err, "of another client")
}

func TestWhatOAuth21DoesNotAllowIsRefused(t *testing.T) {
	s := start(t)
	id, _ := s.register(application)
	good := url.Values{
		"client_id": {id}, "redirect_uri": {callback}, "response_type": {"code"}, "state": {"x"}, "scope": {"openid"},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())}, "code_challenge_method": {"S256"}, "resource": {resource},
	}
	res, text := s.get(s.url + "/authorize?" + good.Encode())
	require.Equal(t, http.StatusOK, res.StatusCode, text)
	for name, change := range map[string][2]string{
		"no PKCE":            {"code_challenge", ""},
		"plain PKCE":         {"code_challenge_method", "plain"},
		"another resource":   {"resource", "https://other.example.com/mcp"},
		"the implicit flow":  {"response_type", "token"},
		"another redirect":   {"redirect_uri", "https://evil.example/callback"},
		"another path of it": {"redirect_uri", "http://127.0.0.1:7777/other"},
		"an unknown client":  {"client_id", "unheard-of"},
		"an agent's client":  {"client_id", "a1"},
		"a request object":   {"request", "e30.e30.e30"},
		"no redirect":        {"redirect_uri", ""},
	} {
		v := url.Values{}
		for k, value := range good {
			v[k] = value
		}
		v.Set(change[0], change[1])
		res, _ := s.get(s.url + "/authorize?" + v.Encode())
		require.GreaterOrEqual(t, res.StatusCode, 400, name)
		require.Empty(t, res.Header.Get("Location"), name)
	}
}

func TestClientsThatMustNotRegister(t *testing.T) {
	s := start(t)
	for _, body := range []string{
		"", "[]", "{}", `{"redirect_uris":[]}`, `{"redirect_uris":["http://evil.example/cb"]}`, `{"redirect_uris":["javascript:alert(1)"]}`,
		`{"redirect_uris":["/relative"]}`, `{"redirect_uris":["https://a.example/#x"]}`, `{"redirect_uris":["https://a.example/"],"token_endpoint_auth_method":"private_key_jwt"}`,
		`{"redirect_uris":["https://a.example/` + strings.Repeat("x", 3000) + `"]}`,
	} {
		_, status := s.register(body)
		require.Equal(t, http.StatusBadRequest, status, body)
	}
	for _, redirect := range []string{"https://a.example/cb", "http://localhost:1/cb", "cursor://anysphere.cursor/cb", "com.example.app:/cb"} {
		_, status := s.register(`{"redirect_uris":["` + redirect + `"]}`)
		require.Equal(t, http.StatusCreated, status, redirect)
	}
}

func TestAClientMayDescribeItselfAtItsID(t *testing.T) {
	s := start(t)
	var document string
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved.json" {
			http.Redirect(w, r, "/client.json", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, document)
	}))
	t.Cleanup(application.Close)
	id := application.URL + "/client.json"
	document = fmt.Sprintf(`{"client_id":%q,"client_name":"App","redirect_uris":[%q]}`, id, callback)
	token, _ := s.tokens(id, "mira@example.com")
	c := s.verify(token.AccessToken)
	require.Equal(t, identity.Agent, c.Kind)
	require.Equal(t, id, c.Client)
	s.forbidsClient(application.URL + "/other.json")
	s.forbidsClient(application.URL + "/moved.json")
	s.forbidsClient(application.URL + "/")
	s.forbidsClient("http://client.example.com/client.json")
	s.forbidsClient("file:///etc/passwd")
}

func TestOnlyThePageItselfSignsIn(t *testing.T) {
	s := start(t)
	id, _ := s.register(application)
	begun := s.begin(s.config(id), oauth2.S256ChallengeOption(oauth2.GenerateVerifier()))
	form := url.Values{"id": {begun}, "email": {"mira@example.com"}}.Encode()
	const kind = "application/x-www-form-urlencoded"
	for _, h := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
		res, _ := s.post("/login", kind, form, h...)
		require.Equal(t, http.StatusForbidden, res.StatusCode, h)
	}
	res, _ := s.post("/login", kind, url.Values{"id": {begun}, "email": {"eve@example.com"}}.Encode())
	require.Equal(t, http.StatusBadRequest, res.StatusCode)
	res, _ = s.post("/login", kind, url.Values{"id": {"made-up"}, "email": {"mira@example.com"}}.Encode())
	require.Equal(t, http.StatusNotFound, res.StatusCode)
	res, _ = s.post("/login", kind, form, "Origin", s.url)
	require.Equal(t, http.StatusFound, res.StatusCode)
	res, _ = s.post("/login", kind, form)
	require.Equal(t, http.StatusNotFound, res.StatusCode, "signed in already")

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/.well-known/openid-configuration", nil)
	require.NoError(t, err)
	req.Host = "rebound.example"
	res, _ = s.do(req)
	require.Equal(t, http.StatusForbidden, res.StatusCode)
}

func TestThePageSaysWhatTheApplicationWillBe(t *testing.T) {
	s := start(t)
	id, _ := s.register(application)
	_, text := s.get(s.config(id).AuthCodeURL("x", oauth2.S256ChallengeOption(oauth2.GenerateVerifier())))
	require.Contains(t, text, "My &lt;Client&gt;")
	require.Contains(t, text, "It will be an agent")
	_, text = s.get(s.config(devlogin.CommandLine).AuthCodeURL("x", oauth2.S256ChallengeOption(oauth2.GenerateVerifier())))
	require.Contains(t, text, "It will act as you")
}

func TestTokensOfTheStackAreLikeThoseOfSigningIn(t *testing.T) {
	s := start(t)
	for id, want := range map[string]identity.Kind{"agent:a1": identity.Agent, "person:ops@example.com": identity.Person} {
		token, err := s.provider.Token(id, time.Hour)
		require.NoError(t, err)
		c := s.verify(token)
		require.Equal(t, want, c.Kind)
		require.Equal(t, want == identity.Person, c.Operator)
	}
	_, err := s.provider.Token("person:nobody@example.com", time.Hour)
	require.Error(t, err)
}

// The authorization server for development is no part of the server.
