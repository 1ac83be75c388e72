package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentprocess-temporal/server/process"
)

// processFile is the file that makes a folder a process.
const processFile = "PROCESS.md"

// source is one PROCESS.md that was read, or could not be.
type source struct {
	// path is how messages name it: the path given, down to the file.
	path string
	text []byte
	// process is nil where there are issues, or err.
	process *process.Process
	issues  process.Issues
	// err says why there is nothing to read.
	err error
}

// ok reports whether the file is a valid process.
func (s *source) ok() bool { return s.process != nil && len(s.issues) == 0 && s.err == nil }

// lines are everything that is wrong, as `path:line:col: issue`.
func (s *source) lines() []string {
	if s.err != nil {
		return []string{fmt.Sprintf("%s: %s", s.path, s.err)}
	}
	lines := make([]string, len(s.issues))
	for i, issue := range s.issues {
		lines[i] = fmt.Sprintf("%s:%s", s.path, issue)
	}
	return lines
}

// failed is the error of a command that needs the process; nil where it is valid.
func (s *source) failed() error {
	if s.ok() {
		return nil
	}
	return &issuesError{message: s.path + " is not a valid process", issues: s.lines()}
}

// readSource reads one PROCESS.md.
func readSource(path string) *source {
	s := &source{path: path}
	s.text, s.err = os.ReadFile(path)
	if s.err != nil {
		s.err = plainReason(s.err)
		return s
	}
	s.process, s.issues = process.Parse(s.text)
	return s
}

// readFolder reads the PROCESS.md of a folder and holds the folder to its name
// (spec §2.1).
func readFolder(dir string) *source {
	s := readSource(filepath.Join(dir, processFile))
	if s.err != nil {
		return s
	}
	name, line, col := declaredName(s.text)
	if s.process != nil {
		name = s.process.Name
	}
	folder, err := folderName(dir)
	if err != nil {
		s.err = plainReason(err)
		return s
	}
	if name != "" && name != folder {
		s.issues = append(s.issues, process.Issue{Line: line, Col: col, Message: fmt.Sprintf(
			"name: the folder is called %q and the process %q; give both the same name", folder, name)})
		slices.SortStableFunc(s.issues, func(a, b process.Issue) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
		})
	}
	return s
}

// folderName is the name of a folder, whichever way its path leads there.
func folderName(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.Base(abs), nil
}

// readOne reads a PROCESS.md, or the one of a folder, whatever the folder is
// called.
func readOne(path string) *source {
	if isFolder(path) {
		path = filepath.Join(path, processFile)
	}
	return readSource(path)
}

// readAll reads what a path stands for: a file; a folder that is a process; or
// a folder that holds such folders.
func readAll(path string) []*source {
	if !isFolder(path) {
		return []*source{readSource(path)}
	}
	if holdsProcess(path) {
		return []*source{readFolder(path)}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return []*source{{path: path, err: plainReason(err)}}
	}
	var found []*source
	for _, e := range entries {
		if sub := filepath.Join(path, e.Name()); isFolder(sub) && holdsProcess(sub) {
			found = append(found, readFolder(sub))
		}
	}
	if len(found) == 0 {
		return []*source{{path: path, err: fmt.Errorf("there is no %s in this folder, nor in a folder directly in it", processFile)}}
	}
	return found
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// holdsProcess reports whether a folder has a PROCESS.md, readable or not.
func holdsProcess(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, processFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// declaredName finds `name` in a frontmatter, also where other rules are
// broken. The name is empty where it is none, and its place 1, 1 where it is not
// to be found.
func declaredName(text []byte) (name string, line, col int) {
	line, col = 1, 1
	// The parser is known to panic on some files that are not YAML; those have
	// been refused already.
	defer func() { _ = recover() }()
	lines := strings.SplitAfter(string(text), "\n")
	end := slices.IndexFunc(lines[1:], func(l string) bool { return strings.TrimRight(l, " \t\r\n") == "---" })
	if end < 0 {
		return name, line, col
	}
	var root yaml.Node
	front := strings.Join(lines[1:end+1], "")
	if len(front) > process.MaxFrontmatter || yaml.Unmarshal([]byte(front), &root) != nil || len(root.Content) == 0 {
		return name, line, col
	}
	pairs := root.Content[0].Content
	for i := 0; i+1 < len(pairs) && root.Content[0].Kind == yaml.MappingNode; i += 2 {
		if key, value := pairs[i], pairs[i+1]; key.Value == "name" {
			if value.Tag == "!!str" {
				name = value.Value
			}
			return name, value.Line + 1, value.Column
		}
	}
	return name, line, col
}

// plainReason drops the path from an error of the file system: it is said
// already.
func plainReason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
