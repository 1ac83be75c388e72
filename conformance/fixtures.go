package conformance

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/agentprocess-temporal/server/process"
)

//go:embed fixtures
var embedded embed.FS

// Fixture is one process to test with.
type Fixture struct {
	Name    string
	Source  []byte
	Process *process.Process
}

// Embedded are the fixtures that the checks are written for, by name.
func Embedded() (map[string]*Fixture, error) {
	sub, err := fs.Sub(embedded, "fixtures")
	if err != nil {
		return nil, err
	}
	return load(sub)
}

// LoadFixtures reads every folder with a PROCESS.md below dir.
func LoadFixtures(dir string) (map[string]*Fixture, error) { return load(os.DirFS(dir)) }

func load(root fs.FS) (map[string]*Fixture, error) {
	found, err := fs.Glob(root, "*/PROCESS.md")
	if err != nil {
		return nil, err
	}
	all := map[string]*Fixture{}
	for _, name := range found {
		source, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		p, issues := process.Parse(source)
		if len(issues) > 0 {
			return nil, fmt.Errorf("%s: %w", name, issues)
		}
		if folder := path.Dir(name); folder != p.Name {
			return nil, fmt.Errorf("%s: the process is called %s", name, p.Name)
		}
		all[p.Name] = &Fixture{Name: p.Name, Source: source, Process: p}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no folder with a PROCESS.md is there")
	}
	return all, nil
}

// missing says what a server must offer for the fixture and does not.
func (f *Fixture) missing(profiles, tools []string) string {
	if issues := f.Process.Missing(profiles, tools); len(issues) > 0 {
		return issues[0].Message
	}
	return ""
}
