package process_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
)

var update = flag.Bool("update", false, "write the golden files anew")

// head stands before a case that begins within the frontmatter, so that its
// first line is line 4.
const head = "---\nname: p\ndescription: d\n"

// rule is one case of a file under testdata/rules: `### ` and a sentence, the
// source, and below `>>>` the issues, or `valid`. A source that does not begin with
// a fence is put in a frontmatter; `@raw` on its first line prevents that.
type rule struct{ sentence, source, want string }

func readRules(t *testing.T, file string) []rule {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var rules []rule
	for _, part := range strings.Split("\n"+string(text), "\n### ")[1:] {
		sentence, rest, _ := strings.Cut(part, "\n")
		source, want, _ := strings.Cut(strings.TrimSuffix(rest, "\n")+"\n", ">>>\n")
		rules = append(rules, rule{sentence, source, strings.TrimSpace(want)})
	}
	require.NotEmpty(t, rules)
	return rules
}

func (r rule) document() []byte {
	if raw, ok := strings.CutPrefix(r.source, "@raw\n"); ok {
		return []byte(raw)
	}
	if strings.HasPrefix(r.source, "---") {
		return []byte(r.source)
	}
	return []byte(head + r.source + "---\nBody.\n")
}

// TestRules checks every rule of the format, refused and accepted, with the exact
// position and wording of each issue.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/rules/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			var out strings.Builder
			for _, r := range readRules(t, file) {
				p, issues := process.Parse(r.document())
				got := "valid"
				if len(issues) > 0 {
					got = issues.Error()
				}
				out.WriteString("### " + r.sentence + "\n" + r.source + ">>>\n" + got + "\n")
				t.Run(r.sentence, func(t *testing.T) {
					require.Equal(t, len(issues) == 0, p != nil, "a process comes without issues, and only then")
					if !*update {
						require.Equal(t, r.want, got)
					}
				})
			}
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644))
			}
		})
	}
}
