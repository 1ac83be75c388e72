package trust

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/idptest"
)

const resource = "https://process.example.com/mcp"

// example is the world of an example file, with the one algorithm of the test's
// key in place of the provider's.
func example(t *testing.T, name string) world {
	t.Helper()
	text, err := os.ReadFile("../../examples/identity/" + name + ".yaml")
	require.NoError(t, err)
	require.Contains(t, string(text), "algorithms: [RS256]")
	return newWorld(t, strings.ReplaceAll(string(text), "algorithms: [RS256]", "algorithms: [ES256]"))
}

// The claims are those that the providers document for their tokens.

func TestKeycloak(t *testing.T) {
	w := example(t, "keycloak")
	const issuer = "https://login.example.com/realms/acme"
	person := func(client string) idptest.Claims {
		return idptest.Claims{
			"iss": issuer, "aud": []string{resource, "account"}, "typ": "Bearer", "azp": client, "sub": "4f6c0f0e-0b1c-4b8e-9d53-1c0b7b7a1a11",
			"scope": "openid email profile", "email": "Mira@Example.com", "email_verified": true, "preferred_username": "mira",
			"groups": []string{"finance", "process-publishers", "Domain Users", "operators"},
		}
	}
	require.Equal(t, identity.Caller{
		Org: "acme", Subject: "mira@example.com", Kind: identity.Person, Client: "agentprocess-web",
		Groups: []string{"finance", "process-publishers"}, Publisher: true,
	}, w.caller(person("agentprocess-web")))

	agent := w.caller(person("some-mcp-client"))
	require.Equal(t, identity.Agent, agent.Kind, "a person's sign-in at an agent's client")
	require.Equal(t, "mira@example.com", agent.OnBehalfOf)
	require.Regexp(t, `^some-mcp-client\.[0-9a-f]{16}$`, agent.Subject)
	require.Empty(t, agent.Groups)
	require.False(t, agent.Publisher)

	require.Equal(t, identity.Caller{
		Org: "acme", Subject: "invoice-bot", Kind: identity.Agent, Client: "invoice-bot", Processes: []string{"supplier-onboarding"},
	}, w.caller(idptest.Claims{
		"iss": issuer, "aud": resource, "azp": "invoice-bot", "client_id": "invoice-bot", "sub": "b1d0-service",
		"preferred_username": "service-account-invoice-bot", "scope": "email profile",
	}))
	require.Equal(t, identity.Agent, w.caller(idptest.Claims{
		"iss": issuer, "aud": resource, "azp": "agentprocess-web", "sub": "b1d0-service", "email": "mira@example.com",
		"preferred_username": "service-account-agentprocess-web",
	}).Kind, "client credentials of a human client are no person")
}

func TestEntra(t *testing.T) {
	w := example(t, "entra")
	const (
		issuer = "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0"
		api    = "aaaaaaaa-0000-4000-8000-000000000001"
	)
	person := idptest.Claims{
		"iss": issuer, "aud": api, "azp": "bbbbbbbb-0000-4000-8000-000000000002", "azpacr": "0", "ver": "2.0",
		"sub": "AAAApairwise", "oid": "00000000-aaaa-bbbb-cccc-dddddddddddd", "upn": "mira@example.com", "email": "boss@example.com",
		"scp": "access", "tid": "11111111-2222-3333-4444-555555555555",
		"groups": []string{"99999999-0000-4000-8000-00000000000f", "99999999-0000-4000-8000-0000000000ad", "77777777-0000-4000-8000-000000000000"},
	}
	require.Equal(t, identity.Caller{
		Org: "acme", Subject: "mira@example.com", Kind: identity.Person, Client: "bbbbbbbb-0000-4000-8000-000000000002",
		Groups: []string{"finance", "process-operators"}, Operator: true,
	}, w.caller(person))
	agent := w.caller(idptest.Claims{
		"iss": issuer, "aud": api, "azp": "cccccccc-0000-4000-8000-000000000003", "azpacr": "1", "idtyp": "app",
		"sub": "55555555-0000-4000-8000-000000000000", "oid": "55555555-0000-4000-8000-000000000000",
	})
	require.Equal(t, "invoice-bot", agent.Subject)
	require.Equal(t, identity.Agent, agent.Kind)
	person["iss"] = "https://login.microsoftonline.com/99999999-2222-3333-4444-555555555555/v2.0"
	w.refused("another tenant", person)
}

func TestOkta(t *testing.T) {
	w := example(t, "okta")
	claims := func(changes idptest.Claims) idptest.Claims {
		c := idptest.Claims{
			"iss": "https://acme.okta.com/oauth2/aus1a2b3c4d5e6f7g8h9", "aud": resource, "ver": 1, "jti": "AT.1", "cid": "0oa1humanweb00000001",
			"uid": "00u1", "sub": "mira@example.com", "email": "mira@example.com", "scp": []string{"agentprocess", "agentprocess.publish"}, "groups": []string{"finance"},
		}
		for k, v := range changes {
			c[k] = v
		}
		return c
	}
	require.Equal(t, identity.Caller{
		Org: "acme", Subject: "mira@example.com", Kind: identity.Person, Client: "0oa1humanweb00000001", Groups: []string{"finance"}, Publisher: true,
	}, w.caller(claims(nil)))
	require.Equal(t, "invoice-bot", w.caller(claims(idptest.Claims{"cid": "0oa1agent00000000003", "sub": "0oa1agent00000000003"})).Subject)
	_, err := w.verify(claims(idptest.Claims{"scp": []string{"openid"}}))
	var scope *identity.ScopeError
	require.ErrorAs(t, err, &scope)
	require.Equal(t, []string{"agentprocess"}, scope.Scopes)
}

func TestAuth0(t *testing.T) {
	w := example(t, "auth0")
	person := idptest.Claims{
		"iss": "https://acme.eu.auth0.com/", "aud": []string{resource, "https://acme.eu.auth0.com/userinfo"}, "azp": "HumanWebClient0123456789abcdefgh",
		"sub": "auth0|5f7c8ec7c33c6c004bbafe82", "org_id": "org_9876543210FeDcBa", "scope": "openid process:operate",
		"https://process.example.com/email": "mira@example.com", "https://process.example.com/groups": []string{"finance", "publisher"},
	}
	require.Equal(t, identity.Caller{
		Org: "globex", Subject: "mira@example.com", Kind: identity.Person, Client: "HumanWebClient0123456789abcdefgh",
		Groups: []string{"finance", "publisher"}, Operator: true, Publisher: true,
	}, w.caller(person))
	agent := w.caller(idptest.Claims{
		"iss": "https://acme.eu.auth0.com/", "aud": resource, "azp": "MachineClient0123456789abcdefghi", "gty": "client-credentials",
		"sub": "MachineClient0123456789abcdefghi@clients", "org_id": "org_AbCdEf0123456789",
	})
	require.Equal(t, "acme/invoice-bot", agent.Org+"/"+agent.Subject)
	person["org_id"] = "org_unknown"
	w.refused("an organization that is not listed", person)
	delete(person, "org_id")
	w.refused("no organization", person)
}

func TestGoogle(t *testing.T) {
	w := example(t, "google")
	const app = "123456789012-humanweb.apps.googleusercontent.com"
	person := idptest.Claims{
		"iss": "https://accounts.google.com", "aud": app, "azp": app, "sub": "110169484474386276334",
		"hd": "acme.example", "email": "mira@acme.example", "email_verified": true,
	}
	require.Equal(t, identity.Caller{Org: "acme", Subject: "mira@acme.example", Kind: identity.Person, Client: app}, w.caller(person))
	person["email_verified"] = false
	w.refused("an address that was not verified", person)
	account := idptest.Claims{
		"iss": "https://accounts.google.com", "aud": resource, "azp": "108000000000000000001", "sub": "108000000000000000001",
		"email": "invoice-bot@acme-prod.iam.gserviceaccount.com", "email_verified": true,
	}
	require.Equal(t, "invoice-bot", w.caller(account).Subject)
	account["azp"], account["sub"] = "108000000000000000666", "108000000000000000666"
	w.refused("a service account of somebody else", account)
}

func TestEveryExampleParses(t *testing.T) {
	files, err := os.ReadDir("../../examples/identity")
	require.NoError(t, err)
	require.Len(t, files, 5)
	for _, f := range files {
		c, err := Load("../../examples/identity/" + f.Name())
		require.NoError(t, err)
		require.Regexp(t, `^https://`, c.Resource)
	}
}
