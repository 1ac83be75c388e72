package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWrongCallExitsWithTwoAndSaysHowToCall(t *testing.T) {
	t.Setenv(serverVariable, "")
	t.Setenv(tokenVariable, "")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"an unknown command":             {[]string{"validat"}, "unknown command"},
		"an unknown flag":                {[]string{"validate", "--jsn", "x"}, "unknown flag"},
		"a flag without its value":       {[]string{"processes", "--server"}, "needs an argument"},
		"nothing to validate":            {[]string{"validate"}, "at least 1 arg"},
		"two files to hash":              {[]string{"hash", "a", "b"}, "accepts 1 arg"},
		"no file to draw":                {[]string{"map"}, "accepts 1 arg"},
		"nothing to import":              {[]string{"import"}, "accepts 1 arg"},
		"nothing to bind":                {[]string{"bind", "refund", "--data", "x"}, "--role"},
		"a role without its group":       {[]string{"bind", "refund", "--role", "payer"}, "ROLE=GROUP"},
		"a role without its name":        {[]string{"publish", "refund", "--role", "=finance"}, "ROLE=GROUP"},
		"an empty group":                 {[]string{"publish", "refund", "--role", "payer="}, "ROLE=GROUP"},
		"one role for two groups":        {[]string{"publish", "refund", "--role", "payer=a", "--role", "payer=b"}, "both a and b"},
		"arguments where none are taken": {[]string{"processes", "refund"}, "unknown command"},
		"an unknown command of runs":     {[]string{"runs", "remove", "r_1"}, "unknown command"},
		"a build of no deployment":       {[]string{"server", "--build-id", "one"}, "--deployment-name"},
		"a deployment of no build":       {[]string{"server", "--deployment-name", "x"}, "--build-id"},
		"no run to delete":               {[]string{"runs", "delete"}, "accepts 1 arg"},
		"no server":                      {[]string{"processes"}, "say which server"},
		"no token":                       {[]string{"processes", "--server", "http://127.0.0.1:1"}, "a token is needed"},
		"a server that is no address":    {[]string{"processes", "--server", "127.0.0.1:8080", "--token", "t"}, "not the address of a server"},
		"a server without a host":        {[]string{"processes", "--server", "http://", "--token", "t"}, "not the address of a server"},
		"a server of another protocol":   {[]string{"processes", "--server", "ftp://host", "--token", "t"}, "not the address of a server"},
		"a server and a stack":           {[]string{"processes", "--server", "http://127.0.0.1:1", "--data", "x"}, "none of the others can be"},
		"a token and a stack":            {[]string{"processes", "--token", "t", "--data", "x"}, "none of the others can be"},
		"somebody of no stack":           {[]string{"processes", "--server", "http://127.0.0.1:1", "--token", "t", "--as", "agent:a1"}, "--as goes with --data"},
		"a token of nobody":              {[]string{"token", "--data", "x"}, `"as" not set`},
		"a token of nowhere":             {[]string{"token", "--as", "agent:a1"}, `"data" not set`},
	} {
		t.Run(name, func(t *testing.T) {
			r := program(t, c.args...)
			require.Equal(t, 2, r.code, r.stderr)
			require.Empty(t, r.stdout)
			require.Contains(t, r.stderr, c.says)
			require.Contains(t, r.stderr, "--help'.")
		})
	}
}

func TestHelpAndVersionAreNoFailure(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help"}, {"runs"}, {"validate", "--help"}, {"--version"}} {
		r := program(t, args...)
		require.Zero(t, r.code, args)
		require.NotEmpty(t, r.stdout)
		require.Empty(t, r.stderr)
	}
}

func TestEveryCommandIsThereOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, cmd := range newRootCommand().Commands() {
		require.False(t, seen[cmd.Name()], cmd.Name())
		seen[cmd.Name()] = true
		require.NotEmpty(t, cmd.Short, cmd.Name())
	}
	for _, name := range []string{
		"bind", "dev", "hash", "import", "map", "migrate", "processes", "publish", "runs", "server", "setup-temporal", "token", "validate",
	} {
		require.True(t, seen[name], name)
	}
}

func TestTextOfOthersCannotSteerATerminal(t *testing.T) {
	require.Equal(t, "a\ufffd[2Jb\n\tc\ufffd é", plain("a\x1b[2Jb\n\tc\u202e é"))
	require.Equal(t, "one two\ufffd", oneLine("one\n two\x1b", 20))
	require.Equal(t, "eeeé…", oneLine("eeeéééé", 5))
}
