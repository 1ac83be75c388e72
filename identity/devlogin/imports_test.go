package devlogin_test

import (
	"go/build"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheServerDoesNotContainIt(t *testing.T) {
	seen := map[string]bool{}
	var walk func(path string)
	walk = func(path string) {
		const module = "github.com/agentprocess-temporal/server"
		if seen[path] || !strings.HasPrefix(path, module) {
			return
		}
		seen[path] = true
		p, err := build.ImportDir("../.."+strings.TrimPrefix(path, module), 0)
		require.NoError(t, err, path)
		for _, imported := range p.Imports {
			require.NotContains(t, imported, "identity/devlogin", path)
			require.NotContains(t, imported, "zitadel/oidc", path)
			walk(imported)
		}
	}
	walk("github.com/agentprocess-temporal/server/internal/server")
	require.Greater(t, len(seen), 15)
}
