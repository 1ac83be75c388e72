package process_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentprocess-temporal/server/process"
)

// FuzzParse holds what is true of every file: no panic; a process or issues, not
// both; issues in order; and a process that comes back from JSON as it was.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/rules/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split("\n"+string(text), "\n### ")[1:] {
			_, rest, _ := strings.Cut(part, "\n")
			source, _, _ := strings.Cut(rest, ">>>\n")
			f.Add(rule{source: source}.document())
		}
	}
	for _, file := range []string{"messy.md", "onboarding.md"} {
		src, err := os.ReadFile(filepath.Join("testdata", "golden", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, issues := process.Parse(src)
		if (p == nil) != (len(issues) > 0) {
			t.Fatalf("process %v with issues %v", p, issues)
		}
		if !slices.IsSortedFunc(issues, func(a, b process.Issue) int {
			if a.Line != b.Line {
				return a.Line - b.Line
			}
			return a.Col - b.Col
		}) {
			t.Fatalf("issues out of order:\n%s", issues)
		}
		for _, i := range issues {
			if i.Line < 1 || i.Col < 1 || i.Message == "" || i.Line > bytes.Count(src, []byte("\n"))+bytes.Count(src, []byte("\r"))+2 {
				t.Fatalf("issue %+v", i)
			}
		}
		if p == nil {
			return
		}
		if !bytes.HasSuffix(src, []byte(p.Body)) {
			t.Fatal("the body is not the end of the file")
		}
		first, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var back process.Process
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatal(err)
		}
		second, _ := json.Marshal(&back)
		if !bytes.Equal(first, second) {
			t.Fatalf("JSON changed:\n%s\n%s", first, second)
		}
		for _, line := range strings.Split(strings.TrimSuffix(p.Mermaid(), "\n"), "\n") {
			if !mermaidLine.MatchString(line) {
				t.Fatalf("map line %q", line)
			}
		}
		_ = p.Missing(nil, nil)
	})
}

// FuzzFieldsCheck holds what is true of every declaration and value: no panic,
// every issue names the prefix, and the same issues after a trip through JSON.
func FuzzFieldsCheck(f *testing.F) {
	for _, declared := range []string{`{"a":"string"}`, `{"n":{"type":"number","one_of":[1.50,1e99]}}`,
		`{"l":{"type":"list","items":{"type":"person","one_of":["a@b.c"]}}}`, `{"d":"date","t":"datetime","o":{"type":"object","optional":true}}`} {
		for _, value := range []string{`{"a":"x"}`, `{"n":15e-1}`, `{"n":1e999999999999999999999}`, `{"l":["a@b.c",1]}`,
			`{"d":"2024-02-29","t":"2016-12-31T23:59:60Z","o":{"a":1,"a":2}}`, `[]`, ``} {
			f.Add([]byte(declared), []byte(value))
		}
	}
	f.Fuzz(func(t *testing.T, declared, value []byte) {
		var fs process.Fields
		if json.Unmarshal(declared, &fs) != nil {
			return
		}
		issues := fs.Check("output", value)
		for _, i := range issues {
			if !strings.HasPrefix(i, "output.") && i != "output: expected object" {
				t.Fatalf("issue %q", i)
			}
		}
		text, err := json.Marshal(fs)
		if err != nil {
			t.Fatal(err)
		}
		var again process.Fields
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !slices.Equal(issues, again.Check("output", value)) {
			t.Fatal("other issues after JSON")
		}
		for _, p := range fs.Persons(value) {
			if !process.WellFormedPerson(p.Value) {
				t.Fatalf("person %+v", p)
			}
		}
	})
}
