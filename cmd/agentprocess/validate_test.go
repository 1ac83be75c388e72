package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
)

func TestValidateExitsWithOneWhenAnyPathHasAnIssue(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir, "good.md", refund)
	bad := write(t, dir, "bad.md", strings.Replace(refund, "finish: paid", "finsh: paid", 1))
	empty := write(t, dir, "empty.md", "")
	right := folder(t, "refund", refund)
	wrong := folder(t, "refunds", refund)
	nothing := t.TempDir()
	many := t.TempDir()
	write(t, many, "one/PROCESS.md", tiny("one"))
	write(t, many, "two/PROCESS.md", tiny("two"))
	write(t, many, "notes/README.md", "")
	write(t, many, "README.md", "")
	deep := t.TempDir()
	write(t, deep, "a/b/PROCESS.md", tiny("b"))
	mixed := t.TempDir()
	write(t, mixed, "one/PROCESS.md", tiny("one"))
	write(t, mixed, "two/PROCESS.md", tiny("three"))
	odd := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(odd, processFile), 0o755))

	for name, c := range map[string]struct {
		paths []string
		code  int
		lines []string // what the lines of the output begin with
	}{
		"a valid file":                        {[]string{good}, 0, []string{good + ": ok (refund, 3 steps)"}},
		"an invalid file":                     {[]string{bad}, 1, []string{bad + ":12:5: ", bad + ":13:5: "}},
		"an empty file":                       {[]string{empty}, 1, []string{empty + ":1:1: "}},
		"valid and invalid":                   {[]string{good, bad}, 1, []string{good + ": ok", bad + ":12:5: ", bad + ":13:5: "}},
		"a folder":                            {[]string{right}, 0, []string{right + "/PROCESS.md: ok"}},
		"a folder with a slash":               {[]string{right + "/"}, 0, []string{right + "/PROCESS.md: ok"}},
		"a folder of another name":            {[]string{wrong}, 1, []string{wrong + "/PROCESS.md:2:7: name: "}},
		"the file in a folder of other name":  {[]string{wrong + "/PROCESS.md"}, 0, []string{wrong + "/PROCESS.md: ok"}},
		"a folder of folders":                 {[]string{many}, 0, []string{many + "/one/PROCESS.md: ok", many + "/two/PROCESS.md: ok"}},
		"a folder of folders, one misnamed":   {[]string{mixed}, 1, []string{mixed + "/one/PROCESS.md: ok", mixed + "/two/PROCESS.md:2:7: name: "}},
		"a folder with nothing in it":         {[]string{nothing}, 1, []string{nothing + ": there is no PROCESS.md"}},
		"a folder with a process too deep":    {[]string{deep}, 1, []string{deep + ": there is no PROCESS.md"}},
		"a path that is not there":            {[]string{dir + "/none.md"}, 1, []string{dir + "/none.md: no such file"}},
		"a path through a file":               {[]string{good + "/x"}, 1, []string{good + "/x: not a directory"}},
		"an empty path":                       {[]string{""}, 1, []string{": no such file"}},
		"a PROCESS.md that is a folder":       {[]string{odd}, 1, []string{odd + "/PROCESS.md: is a directory"}},
		"not there, and the others are valid": {[]string{dir + "/none.md", good}, 1, []string{dir + "/none.md: ", good + ": ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := program(t, append([]string{"validate"}, c.paths...)...)
			require.Equal(t, c.code, r.code, r.stdout+r.stderr)
			require.Empty(t, r.stderr)
			lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
			require.Len(t, lines, len(c.lines), r.stdout)
			for i, begins := range c.lines {
				require.True(t, strings.HasPrefix(lines[i], begins), "%q", lines[i])
			}

			asJSON := program(t, append([]string{"validate", "--json"}, c.paths...)...)
			require.Equal(t, c.code, asJSON.code)
			require.True(t, json.Valid([]byte(asJSON.stdout)), asJSON.stdout)
		})
	}
}

func TestTheFolderNameIsThatOfThePlaceNotOfThePath(t *testing.T) {
	dir := folder(t, "refund", refund)
	t.Chdir(dir)
	r := program(t, "validate", ".")
	require.Equal(t, result{0, "PROCESS.md: ok (refund, 3 steps)\n", ""}, r)
	require.Zero(t, program(t, "validate", "../refund").code)
	require.Zero(t, program(t, "validate", "./").code)

	require.NoError(t, os.Mkdir("sub", 0o755))
	t.Chdir("sub")
	require.Equal(t, 0, program(t, "validate", "..").code)

	t.Chdir(folder(t, "other", refund))
	require.Equal(t, 1, program(t, "validate", ".").code)
}

func TestAFolderIsHeldToItsNameAlsoWhereOtherRulesAreBroken(t *testing.T) {
	for name, text := range map[string]string{
		"quoted":       strings.Replace(refund, "name: refund", `name: "refund"`, 1),
		"late":         strings.Replace(strings.Replace(refund, "name: refund\n", "", 1), "\n---\nKeep", "\nname: refund\n---\nKeep", 1),
		"of a flow":    "---\n{ name: refund, description: D., steps: [{ id: a, finish: done }] }\n---\n",
		"with a break": strings.Replace(refund, "finish: paid", "finsh: paid", 1),
	} {
		dir := folder(t, "other", text)
		r := program(t, "validate", dir)
		require.Equal(t, 1, r.code, name)
		require.Regexp(t, `(?m)PROCESS\.md:\d+:[1-9]\d*: name: the folder is called "other" and the process "refund"`, r.stdout, name)
		require.NotContains(t, r.stdout, ":1:1: name:", name)
	}
	r := program(t, "validate", folder(t, "other", "---\n[name, refund]\n---\n"))
	require.Equal(t, 1, r.code)
	require.NotContains(t, r.stdout, "the folder")
}

func TestValidateAsJSON(t *testing.T) {
	dir := t.TempDir()
	paths := []string{
		write(t, dir, "refund.md", refund),
		write(t, dir, "needs.md", "---\nname: n\ndescription: D.\nsteps:\n"+
			"  - { id: a, agent: A., evidence: [file] }\n  - { id: b, agent: B., evidence: [file] }\n"+
			"  - { id: w, wait_for: signed }\n  - { id: z, finish: <b>done }\n---\n"),
		write(t, dir, "bad.md", strings.Replace(refund, "name: refund", "name: Refund", 1)),
		filepath.Join(dir, "none.md"),
	}
	r := program(t, append([]string{"validate", "--json"}, paths...)...)
	require.Equal(t, 1, r.code)
	var got []verdict
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &got))
	p, issues := process.Parse([]byte(refund))
	require.Empty(t, issues)
	none := needs{[]string{}, []string{}}
	require.Equal(t, verdict{paths[0], true, "refund", p.Hash, process.Issues{}, none}, got[0])
	require.True(t, got[1].OK)
	require.Equal(t, needs{[]string{}, []string{"send_event", "upload"}}, got[1].Needs)
	_, issues = process.Parse([]byte(strings.Replace(refund, "name: refund", "name: Refund", 1)))
	require.Equal(t, verdict{paths[2], false, "", "", issues, none}, got[2])
	require.Equal(t, verdict{paths[3], false, "", "", process.Issues{{Message: "no such file or directory"}}, none}, got[3])
	require.NotContains(t, r.stdout, "null")
}

func TestHashAndMapPrintNothingElse(t *testing.T) {
	dir := folder(t, "refund", refund)
	p, issues := process.Parse([]byte(refund))
	require.Empty(t, issues)
	for _, path := range []string{dir, filepath.Join(dir, processFile)} {
		require.Equal(t, result{0, p.Hash + "\n", ""}, program(t, "hash", path))
		require.Equal(t, result{0, p.Mermaid(), ""}, program(t, "map", path))
	}
	for _, command := range []string{"hash", "map"} {
		bad := write(t, t.TempDir(), "bad.md", strings.Replace(refund, "finish: paid", "finsh: paid", 1))
		r := program(t, command, bad)
		require.Equal(t, 1, r.code)
		require.Empty(t, r.stdout)
		require.Contains(t, r.stderr, "\n"+bad+":12:5: ")

		r = program(t, command, dir+"/none")
		require.Equal(t, 1, r.code)
		require.Empty(t, r.stdout)
		require.Contains(t, r.stderr, dir+"/none: no such file or directory")
	}
}

func TestFixturesOfOthersValidate(t *testing.T) {
	fixtures := "../../../shared/upstream/conformance/fixtures"
	if _, err := os.Stat(fixtures); err != nil {
		t.Skip("the fixtures of the protocol are not beside this repository")
	}
	r := program(t, "validate", fixtures)
	require.Zero(t, r.code, r.stdout)
	require.Equal(t, 12, strings.Count(r.stdout, ": ok ("))
	require.Contains(t, r.stdout, "needs parallel-1)")
	require.Contains(t, r.stdout, "needs check-1)")
}
