package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/conformance"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/internal/testenv"
)

// publishVerb makes this test binary a publish command, as `agentprocess publish`
// is one: DIR URL TOKEN ROLE=GROUP…
const publishVerb = "publish-fixture"

func TestMain(m *testing.M) {
	if len(os.Args) > 4 && os.Args[1] == publishVerb {
		if err := publish(os.Args[2], os.Args[3], os.Args[4], os.Args[5:]); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testenv.Main(m)
}

// publish imports, binds and publishes a folder over the server's HTTP API.
func publish(dir, url, token string, pairs []string) error {
	source, err := os.ReadFile(filepath.Join(dir, "PROCESS.md"))
	if err != nil {
		return err
	}
	roles := map[string]string{}
	for _, pair := range pairs {
		role, group, _ := strings.Cut(pair, "=")
		roles[role] = group
	}
	name := filepath.Base(dir)
	bindings, err := json.Marshal(roles)
	if err != nil {
		return err
	}
	if err := api(http.MethodPost, url+"/api/processes", token, source); err != nil {
		return err
	}
	if len(roles) > 0 {
		if err := api(http.MethodPut, url+"/api/processes/"+name+"/roles", token, bindings); err != nil {
			return err
		}
	}
	return api(http.MethodPost, url+"/api/processes/"+name+"/publish", token, nil)
}

func api(method, url, token string, body []byte) error {
	req, err := http.NewRequest(method, url, bytes.NewReader(body)) //nolint:noctx // a short-lived program
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, url, res.Status, answer)
	}
	return err
}

// configOf is a configuration for our server.
func configOf(t *testing.T, s *servertest.Server) *conformance.Config {
	t.Helper()
	person := func(id string) conformance.Identity {
		return conformance.Identity{Token: s.Token(id), Person: strings.TrimPrefix(id, "person:")}
	}
	var c conformance.Config
	c.Agents.One.Token, c.Agents.Two.Token = s.Token(servertest.A1), s.Token(servertest.A2)
	c.People.Member, c.People.Colleague = person(servertest.Mira), person(servertest.Omar)
	c.People.Outsider, c.People.Operator = person(servertest.Lena), person(servertest.Boss)
	c.Group = "finance"
	c.Other = &struct {
		Agent    conformance.Identity `yaml:"agent"`
		Operator conformance.Identity `yaml:"operator"`
	}{
		Agent:    conformance.Identity{Token: s.TokenOf(identity.Caller{Org: "elsewhere", Subject: "x1", Kind: identity.Agent})},
		Operator: conformance.Identity{Token: s.TokenOf(identity.Caller{Org: "elsewhere", Subject: "boss@example.org", Kind: identity.Person, Operator: true})},
	}
	self, err := os.Executable()
	require.NoError(t, err)
	c.Publish = &conformance.Publish{
		Command: []string{self, publishVerb, "{dir}", s.URL, s.Token(servertest.Boss), "{roles}"},
		Role:    []string{"{role}={group}"},
	}
	return &c
}
