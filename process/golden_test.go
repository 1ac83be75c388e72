package process_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
)

// golden compares with a file under testdata/golden, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	src, err := os.ReadFile(path)
	require.NoError(t, err)
	return src
}

func parse(t *testing.T, src string) *process.Process {
	t.Helper()
	p, issues := process.Parse([]byte(src))
	require.Empty(t, issues.Strings())
	return p
}

// wrap puts the rest of a frontmatter, from line 4 on, into a document.
func wrap(frontmatter string) string { return head + frontmatter + "---\nBody.\n" }

func TestAMessyFileGetsEveryIssueAtOnce(t *testing.T) {
	p, issues := process.Parse(read(t, "testdata/golden/messy.md"))
	require.Nil(t, p)
	golden(t, "messy.issues", issues.Error()+"\n")
}

func TestTheParsedFormIsStable(t *testing.T) {
	p := parse(t, string(read(t, "testdata/golden/onboarding.md")))
	got, err := json.MarshalIndent(p, "", "  ")
	require.NoError(t, err)
	golden(t, "onboarding.json", string(got)+"\n")
}

func TestTheMapIsStable(t *testing.T) {
	p := parse(t, string(read(t, "testdata/golden/onboarding.md")))
	golden(t, "onboarding.mmd", p.Mermaid())
}

func TestAProcessSurvivesJSON(t *testing.T) {
	p := parse(t, string(read(t, "testdata/golden/onboarding.md")))
	first, err := json.Marshal(p)
	require.NoError(t, err)
	var back process.Process
	require.NoError(t, json.Unmarshal(first, &back))
	second, err := json.Marshal(&back)
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	require.Equal(t, p.Inputs, back.Inputs)
	require.Equal(t, p.Steps, back.Steps)
	require.Equal(t, p.Mermaid(), back.Mermaid())
	require.Equal(t, p.Roles(), back.Roles())
}

// TestTheFixturesOfTheProtocolParse reads the files that other implementations
// are tested with, where they lie beside the repository.
func TestTheFixturesOfTheProtocolParse(t *testing.T) {
	files, err := filepath.Glob("../../shared/upstream/conformance/fixtures/*/PROCESS.md")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("skipped: no fixtures at ../shared/upstream beside the repository")
	}
	profiles := map[string][]string{"major-incident": {process.ParallelProfile}, "vendor-check": {process.CheckProfile}}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			p := parse(t, string(read(t, file)))
			require.Equal(t, name, p.Name)
			require.Empty(t, p.Missing(profiles[name], []string{"upload", "send_event"}))
			if profiles[name] != nil {
				require.Len(t, p.Missing(nil, []string{"upload", "send_event"}), 1)
			}
		})
	}
}
