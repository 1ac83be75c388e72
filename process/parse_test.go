package process_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
)

const small = "---\nname: p\ndescription: d\nsteps: [{ id: done, finish: done }]\n---\n"

func TestTheBodyIsEverythingAfterTheClosingFence(t *testing.T) {
	for name, c := range map[string]struct{ src, body string }{
		"byte for byte":                 {small + "\n # T \r\n---\n\x00\n\n", "\n # T \r\n---\n\x00\n\n"},
		"empty where nothing follows":   {small, ""},
		"empty without a last newline":  {strings.TrimSuffix(small, "\n"), ""},
		"with carriage returns as well": {strings.ReplaceAll(small, "\n", "\r\n") + "a\r\nb\r\n", "a\r\nb\r\n"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.body, parse(t, c.src).Body) })
	}
}

func TestTheFileIsUTF8WithoutMarks(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		want []string
	}{
		"a byte order mark":            {"\ufeff" + small, []string{"1:1: remove the byte order mark: the file must begin with ---"}},
		"a byte that is not UTF-8":     {"---\nname: p\ndescription: ä\xff\n---\n", []string{"3:15: the file is not UTF-8 here; save it as UTF-8"}},
		"one in the body":              {small + "ok\nb\xffd\n", []string{"7:2: the file is not UTF-8 here; save it as UTF-8"}},
		"a control character":          {"---\nname: p\ndescription: a\x07b\x7f\n---\n", []string{"3:15: remove the character U+0007, which YAML does not allow here", "3:17: remove the character U+007F, which YAML does not allow here"}},
		"an empty file":                {"", []string{"1:1: the first line must be --- and open the frontmatter"}},
		"an empty line before":         {"\n" + small, []string{"1:1: the first line must be --- and open the frontmatter"}},
		"a fence with a comment":       {"--- # p\n---\n", []string{"1:1: the first line must be --- and open the frontmatter"}},
		"carriage returns only":        {strings.ReplaceAll(small, "\n", "\r"), []string{"1:1: the first line must be --- and open the frontmatter"}},
		"positions count CRLF as one":  {"---\r\nname: p\r\ndescription: d\r\nstep: 1\r\nsteps: [{ id: done, finish: done }]\r\n---\r\n", []string{`4:1: unknown key "step"; the frontmatter takes name, description, inputs, requires and steps`}},
		"columns count characters":     {"---\n{ name: p, description: äöü€😀, stepz: 1, steps: [{ id: done, finish: done }] }\n---\n", []string{`2:32: unknown key "stepz"; the frontmatter takes name, description, inputs, requires and steps`}},
		"an escaped control character": {"---\nname: p\ndescription: \"a\\x07b\"\nsteps: [{ id: done, finish: done }]\n---\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, issues := process.Parse([]byte(c.src))
			require.Equal(t, c.want, append([]string(nil), issues.Strings()...))
		})
	}
}

func TestEveryLimitIsRefusedQuickly(t *testing.T) {
	bomb := "inputs:\n  a0: &a0 { type: object, one_of: [{ x: " + strings.Repeat("x", 1000) + " }] }\n"
	for i := 1; i < 25; i++ {
		bomb += fmt.Sprintf("  a%d: &a%d { type: object, one_of: [*a%d, *a%d] }\n", i, i, i-1, i-1)
	}
	for name, c := range map[string]struct{ src, want string }{
		"a frontmatter of more than a megabyte": {wrap("# " + strings.Repeat("x", process.MaxFrontmatter) + "\n"), "2:1: the frontmatter has 1048602 bytes; the most is 1048576"},
		"flow nested too deep":                  {wrap("inputs: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "\n"), "4:72: nested deeper than 64 levels; flatten this"},
		"flow nested beyond the library":        {wrap("inputs: " + strings.Repeat("[", 100_000) + "\n"), "4:1: not valid YAML: exceeded max depth of 10000"},
		"maps nested too deep":                  {wrap("inputs: " + strings.Repeat("{a: ", 5000) + strings.Repeat("}", 5000) + "\n"), "nested deeper than 64 levels"},
		"blocks nested too deep":                {"---\n" + strings.Repeat("- ", 5000) + "x\n---\n", "2:129: nested deeper than 64 levels"},
		"aliases that double and double":        {wrap(bomb), "aliases make the frontmatter larger than 4194304 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			p, issues := process.Parse([]byte(c.src))
			require.Nil(t, p)
			require.NotEmpty(t, issues)
			require.Contains(t, issues.Error(), c.want)
			require.Less(t, time.Since(begin), 10*time.Second)
		})
	}
}

func TestAProcessOfThousandsOfStepsIsTaken(t *testing.T) {
	p := parse(t, wrap("steps:\n"+longChain(10_000)))
	require.Len(t, p.Steps, 10_001)
}

func longChain(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("  - { id: s" + strconv.Itoa(i) + ", wait: 1m }\n")
	}
	return b.String() + "  - { id: done, finish: done }\n"
}

// TestTheContentHash compares with canonical JSON written out by hand.
func TestTheContentHash(t *testing.T) {
	for name, c := range map[string]struct{ src, canonical, body string }{
		"sorts keys and drops the style of YAML": {
			src:       "---\nname: p\n# comment\nsteps:\n- finish: 'done'\n  id: \"done\"\ndescription: >-\n  a\n  b\n---\nB\r\n",
			canonical: `{"description":"a b","name":"p","steps":[{"finish":"done","id":"done"}]}`,
			body:      "B\r\n",
		},
		"takes numbers as doubles and words of YAML 1.1 as strings": {
			src: wrap("inputs:\n  b: { type: number, one_of: [0777, 0x1F, 1e3, 1.50, -0.0, 12345678901234567890.5, 1e21, 0o17, .5] }\n" +
				"  a: { type: string, one_of: [yes, 2026-01-01, 1_000, 0b1] }\n  é: { type: string, optional: true }\n" +
				"steps: [{ id: done, finish: done }]\n"),
			canonical: `{"description":"d","inputs":{"a":{"one_of":["yes","2026-01-01","1_000","0b1"],"type":"string"},` +
				`"b":{"one_of":[777,31,1000,1.5,0,12345678901234567000,1e+21,15,0.5],"type":"number"},"é":{"optional":true,"type":"string"}},` +
				`"name":"p","steps":[{"finish":"done","id":"done"}]}`,
			body: "Body.\n",
		},
		"writes aliases out and escapes as little as it may": {
			src: wrap("inputs: { a: &a { type: string, description: \"<&>\\u2028\\\"\\t\\x01\" }, b: *a }\nsteps: [{ id: done, finish: done }]\n"),
			canonical: `{"description":"d","inputs":{"a":{"description":"<&>` + "\u2028" + `\"\t\u0001","type":"string"},` +
				`"b":{"description":"<&>` + "\u2028" + `\"\t\u0001","type":"string"}},"name":"p","steps":[{"finish":"done","id":"done"}]}`,
			body: "Body.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sum := sha256.Sum256([]byte(c.canonical + "\n" + c.body))
			require.Equal(t, hex.EncodeToString(sum[:]), parse(t, c.src).Hash)
		})
	}
}

func TestDefaultsAreResolved(t *testing.T) {
	p := parse(t, wrap(`steps:
  - { id: a, agent: x }
  - { id: b, wait_for: ev, timeout: 2h }
  - { id: c, wait_for: ev }
  - { id: d, task: x, person: boss, next: [done, { to: no, when: Never }] }
  - { id: no, finish: no }
  - { id: done, finish: done }
`))
	require.Equal(t, "b", p.Step("a").Next)
	require.Equal(t, "c", p.Step("b").OnTimeout, "a timeout continues at next unless on_timeout says otherwise")
	require.Equal(t, int64(120), p.Step("b").Timeout.Minutes)
	require.Empty(t, p.Step("c").OnTimeout, "without timeout there is none")
	require.Empty(t, p.Step("d").Next, "routes are chosen, not followed")
	require.Equal(t, []process.Route{{To: "done"}, {To: "no", When: "Never"}}, p.Step("d").Routes)
	require.Empty(t, p.Step("done").Next)
}
