package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/httpapi"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/process"
)

func hashOf(t *testing.T, text string) string {
	t.Helper()
	p, issues := process.Parse([]byte(text))
	require.Empty(t, issues)
	return p.Hash
}

func TestAFolderIsImportedBoundAndPublished(t *testing.T) {
	s, dir, hash := startStack(t), folder(t, "refund", refund), hashOf(t, refund)

	r := program(t, "processes", "--data", s.dir)
	require.Equal(t, result{0, "There is no process yet. Publish one with: agentprocess publish DIR\n", ""}, r)

	r = program(t, "import", dir, "--data", s.dir)
	require.Equal(t, result{0, "Imported refund as a draft (hash " + hash + ").\n" +
		"Roles:\n  payer: not bound to a group yet\nSystems required: billing, mail\n" +
		"Next: agentprocess publish refund --role payer=GROUP\n", ""}, r)

	r = program(t, "publish", "refund", "--data", s.dir)
	require.Equal(t, result{1, "", "Error: every role must be bound to a group (invalid)\npayer: not bound to a group\n"}, r)

	r = program(t, "bind", "refund", "--role", "payer=finance", "--data", s.dir)
	require.Equal(t, result{0, "Bound refund.\nRoles:\n  payer: finance\nNext: agentprocess publish refund\n", ""}, r)

	published := "Published refund version 1 (hash " + hash + ").\nRoles:\n  payer: finance\nSystems required: billing, mail\n"
	require.Equal(t, result{0, published, ""}, program(t, "publish", "refund", "--data", s.dir))

	r = program(t, "publish", "refund", "--data", s.dir)
	require.Zero(t, r.code)
	require.Contains(t, r.stdout, "Nothing new: version 1 of refund has this content and these roles already")

	r = program(t, "processes", "--data", s.dir)
	require.Zero(t, r.code)
	require.Regexp(t, `(?m)^refund +1 +`+hash[:12]+` +payer=finance +billing,mail +Pay a customer back`, r.stdout)
	require.NotContains(t, r.stdout, "DRAFT")
}

func TestPublishOfAFolderDoesAllThree(t *testing.T) {
	s, dir := startStack(t), folder(t, "refund", refund)
	r := program(t, "publish", dir, "--role", "payer=finance", "--data", s.dir)
	require.Zero(t, r.code, r.stderr)
	require.True(t, strings.HasPrefix(r.stdout, "Published refund version 1 "), r.stdout)

	r = program(t, "publish", dir, "--data", s.dir)
	require.Zero(t, r.code, "what is bound stays bound")
	require.True(t, strings.HasPrefix(r.stdout, "Nothing new: version 1 "), r.stdout)

	r = program(t, "publish", "refund", "--role", "payer=board", "--data", s.dir)
	require.Zero(t, r.code, "other roles, another version")
	require.True(t, strings.HasPrefix(r.stdout, "Published refund version 2 "), r.stdout)

	changed := refund + "Really.\n"
	write(t, dir, processFile, changed)
	require.Zero(t, program(t, "import", dir, "--data", s.dir).code)
	r = program(t, "processes", "--data", s.dir)
	require.Regexp(t, `(?s)refund +2 +`+hashOf(t, refund)[:12]+`.*\n\nDRAFT.*refund +`+hashOf(t, changed)[:12], r.stdout)

	t.Chdir(dir)
	r = program(t, "publish", ".", "--data", s.dir)
	require.True(t, strings.HasPrefix(r.stdout, "Published refund version 3 "), r.stdout+r.stderr)
	t.Chdir("..")
	r = program(t, "publish", "refund", "--data", s.dir)
	require.True(t, strings.HasPrefix(r.stdout, "Nothing new: version 3 "), r.stdout+r.stderr)

	r = program(t, "processes", "--json", "--data", s.dir)
	require.Zero(t, r.code)
	var listing operations.Listing
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &listing))
	require.Len(t, listing.Published, 1)
	require.Equal(t, 3, listing.Published[0].Version)
}

func TestWhatIsWrongInAFolderIsNotSent(t *testing.T) {
	s := startStack(t)
	large := refund + strings.Repeat("x", httpapi.MaxSource)
	for name, c := range map[string]struct{ path, says string }{
		"a folder of another name": {folder(t, "refunds", refund), `PROCESS.md:2:7: name: the folder is called "refunds"`},
		"an invalid process":       {folder(t, "refund", strings.Replace(refund, "finish: paid", "finsh: paid", 1)), "PROCESS.md:12:5: "},
		"a folder without one":     {t.TempDir(), "PROCESS.md: no such file"},
		"too large a file":         {folder(t, "refund", large), "larger than"},
	} {
		for _, command := range []string{"import", "publish"} {
			r := program(t, command, c.path, "--data", s.dir)
			require.Equal(t, 1, r.code, name)
			require.Empty(t, r.stdout)
			require.Contains(t, r.stderr, c.says, name)
		}
	}
	file := write(t, t.TempDir(), processFile, refund)
	r := program(t, "import", file, "--data", s.dir)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "is not a folder")
	r = program(t, "publish", file, "--data", s.dir)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "neither a folder nor the name of a process")
	require.Empty(t, *s.hits)
}

func TestARefusalOfTheServerIsPrintedWithEveryIssue(t *testing.T) {
	s, dir := startStack(t), folder(t, "refund", refund)
	r := program(t, "import", dir, "--data", s.dir, "--as", "person:mira@example.com")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "only publishers and operators work on the catalog (forbidden)")

	require.Zero(t, program(t, "import", dir, "--data", s.dir, "--as", "person:PIA@example.com").code)
	r = program(t, "bind", "refund", "--role", "payer=nobody", "--role", "owner=finance", "--data", s.dir)
	require.Equal(t, result{1, "", "Error: the roles cannot be bound (invalid)\n" +
		"owner: not a role of this process\npayer: there is no group \"nobody\" in the organization\n"}, r)

	r = program(t, "publish", "unknown", "--data", s.dir)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "(not_found)")

	// A profile that is not offered: the server says so, and where.
	dir = folder(t, "forked", `---
name: forked
description: Two things at once.
steps:
  - { id: both, parallel: [one, two], next: done }
  - { id: one, agent: A., next: join }
  - { id: two, agent: B., next: join }
  - { id: done, finish: done }
---
`)
	require.Zero(t, program(t, "validate", dir).code)
	r = program(t, "publish", dir, "--data", s.dir)
	require.Equal(t, 1, r.code)
	require.Regexp(t, `(?m)^`+dir+`/PROCESS\.md:5:\d+: step "both": parallel needs the profile parallel-1`, r.stderr)
}

func TestRunsAreDeletedByOperatorsOnly(t *testing.T) {
	s := startStack(t)
	r := program(t, "runs", "delete", "r_none", "--data", s.dir)
	require.Equal(t, result{1, "", "Error: no such run (not_found)\n"}, r)
	r = program(t, "runs", "delete", "r/none?", "--data", s.dir)
	require.Equal(t, result{1, "", "Error: no such run (not_found)\n"}, r)
	require.Equal(t, []string{"DELETE /api/runs/r_none", "DELETE /api/runs/r/none?"}, *s.hits)
	r = program(t, "runs", "delete", "r_none", "--data", s.dir, "--as", "person:pia@example.com")
	require.Equal(t, result{1, "", "Error: only an operator deletes a run (forbidden)\n"}, r)

	done := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"ok":true,"data":{"runId":"r_1"}}`))
	}))
	defer done.Close()
	r = program(t, "runs", "delete", "r_1", "--server", done.URL, "--token", "t")
	require.Equal(t, result{0, "Deleted run r_1: its record, files, requests and history.\n", ""}, r)
}

func TestTheServerIsGivenByFlagsByTheEnvironmentOrByAStack(t *testing.T) {
	s := startStack(t)
	token := s.info.Tokens["person:pia@example.com"]
	for _, address := range []string{s.server(), s.server() + "/", s.server() + "/api", s.server() + "/api/"} {
		require.Zero(t, program(t, "processes", "--server", address, "--token", token).code, address)
	}
	t.Setenv(serverVariable, s.server())
	t.Setenv(tokenVariable, token)
	require.Zero(t, program(t, "processes").code)
	require.Zero(t, program(t, "processes", "--token", token).code)
	r := program(t, "processes", "--token", "another")
	require.Equal(t, 1, r.code, "a flag goes before the environment")
	require.Contains(t, r.stderr, "does not accept the token")

	t.Setenv(serverVariable, "http://127.0.0.1:1")
	t.Setenv(tokenVariable, "another")
	require.Zero(t, program(t, "processes", "--data", s.dir).code, "so does a stack")
	r = program(t, "processes")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "cannot reach the server at http://127.0.0.1:1/api")
	require.NotContains(t, r.stderr, "another", "no token in a message")
}

func TestAStackIsUsedAsSomebodyWhoMay(t *testing.T) {
	s := startStack(t)
	used := func() string {
		c, err := stackClient(s.dir, "")
		require.NoError(t, err)
		for id, token := range s.info.Tokens {
			if token == c.token {
				return id
			}
		}
		return ""
	}
	require.Equal(t, "person:ops@example.com", used())

	s.info.Tokens["person:zoe@example.com"] = s.info.Tokens["person:ops@example.com"] // an operator of another name
	delete(s.info.Tokens, "person:ops@example.com")
	s.write(t)
	require.Equal(t, s.info.Tokens["person:zoe@example.com"], s.info.Tokens[used()])

	delete(s.info.Tokens, "person:zoe@example.com")
	s.write(t)
	require.Equal(t, "person:pia@example.com", used(), "a publisher, where there is no operator")

	delete(s.info.Tokens, "person:pia@example.com")
	s.write(t)
	r := program(t, "processes", "--data", s.dir)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "--as")

	r = program(t, "processes", "--data", s.dir, "--as", "person:nobody@example.com")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "knows nobody called \"person:nobody@example.com\"; it knows:\nagent:a1\n")
}

func TestAStackThatIsNotThereIsNamed(t *testing.T) {
	s := startStack(t)
	r := program(t, "processes", "--data", s.dir+"/none")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "agentprocess dev --data "+s.dir+"/none")

	s.info.API = "http://127.0.0.1:1/api"
	s.write(t)
	r = program(t, "processes", "--data", s.dir)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "is the development stack in "+s.dir+" running?")

	require.NoError(t, os.WriteFile(s.dir+"/dev.json", []byte("{"), 0o600))
	r = program(t, "processes", "--data", s.dir)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "dev.json: ")
}

func TestTokenPrintsOneTokenOfAStack(t *testing.T) {
	s := startStack(t)
	for _, as := range []string{"agent:a1", "person:mira@example.com"} {
		require.Equal(t, result{0, s.info.Tokens[as] + "\n", ""}, program(t, "token", "--data", s.dir, "--as", as))
	}
	r := program(t, "token", "--data", s.dir, "--as", "person:Mira@Example.com")
	require.Equal(t, s.info.Tokens["person:mira@example.com"]+"\n", r.stdout)
	r = program(t, "token", "--data", s.dir, "--as", "mira@example.com")
	require.Equal(t, 1, r.code)
	require.Empty(t, r.stdout)
	require.Contains(t, r.stderr, "\nperson:mira@example.com\n")
}

func TestAnAnswerThatIsNotOfThisAPIIsSaidToBeNone(t *testing.T) {
	for name, c := range map[string]struct {
		status       int
		header, body string
		says         string
	}{
		"a web page":          {200, "", "<h1>Hello</h1>", "is not the API"},
		"JSON of another":     {200, "", `{"items":[]}`, "is not the API"},
		"data that is absent": {200, "", `{"ok":true}`, "is not the API"},
		"a refusal of none":   {500, "", `{"ok":false}`, "500 Internal Server Error"},
		"a gateway":           {502, "", "bad\x1b[2J gateway", "502 Bad Gateway: bad\ufffd[2J gateway"},
		"a redirect":          {301, "https://other.example.com/", "", "sends on to https://other.example.com/"},
		"a challenge":         {401, "", `{"error":"invalid_token"}`, "does not accept the token"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.header != "" {
					w.Header().Set("Location", c.header)
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			r := program(t, "processes", "--server", server.URL, "--token", "t")
			require.Equal(t, 1, r.code)
			require.Empty(t, r.stdout)
			require.Contains(t, r.stderr, c.says)
		})
	}
}
