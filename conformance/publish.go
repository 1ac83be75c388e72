package conformance

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// publishTimeout bounds one publish command.
const publishTimeout = 2 * time.Minute

// publishFixtures publishes what the server can publish and does not show yet,
// or tells what is missing, and learns who is who.
func (s *Suite) publishFixtures(ctx context.Context) error {
	if err := s.readCatalog(ctx); err != nil {
		return err
	}
	var missing []string
	tried := 0
	wanted := map[string]*Fixture{}
	for name, f := range s.Fixtures {
		if s.opts.Fixtures == nil || s.opts.Config.Publish != nil {
			wanted[name] = f
		}
	}
	for name, f := range s.walked {
		wanted[name] = f
	}
	for _, name := range sortedKeys(wanted) {
		f := wanted[name]
		if f.missing(s.Profiles, s.Tools) != "" {
			continue
		}
		if s.opts.Config.Publish == nil {
			if _, ok := s.published[name]; !ok {
				missing = append(missing, name)
			}
			continue
		}
		tried++
		if out, err := s.publish(ctx, f.Name, f.Source, f.Process.Roles()); err != nil {
			s.unpublished[name] = fmt.Sprintf("%s could not be published: %v: %s", name, err, clip(strings.Join(strings.Fields(out), " "), 500))
		}
	}
	// That a fixture cannot be published is for a check to fail at; that none
	// can is no verdict.
	if tried > 0 && len(s.unpublished) == tried {
		return cannot("no fixture could be published: %s", s.unpublished[sortedKeys(s.unpublished)[0]])
	}
	if len(missing) > 0 && len(missing) > len(wanted)/2 {
		return cannot("%d of the fixtures are not published on this server: %s", len(missing), strings.Join(missing, ", "))
	}
	for _, name := range missing {
		s.unpublished[name] = name + " is not published, though describe offers all that it needs"
	}
	if err := s.readCatalog(ctx); err != nil {
		return err
	}
	return s.identify(ctx)
}

// readCatalog reads list_processes to its end.
func (s *Suite) readCatalog(ctx context.Context) error {
	args := Args{}
	for range 1000 {
		r, err := s.ask(ctx, s.One, "list_processes", args)
		if err != nil {
			return cannot("list_processes failed: %v", oneLine(err))
		}
		for _, item := range r.Data.List("items") {
			s.published[item.Str("name")] = item
		}
		cursor := r.Data.Str("nextCursor")
		if cursor == "" {
			return nil
		}
		args = Args{"cursor": cursor}
	}
	return cannot("list_processes has no end")
}

// publish runs the publish command for a PROCESS.md. The output is for messages.
func (s *Suite) publish(ctx context.Context, name string, source []byte, roles []string) (output string, err error) {
	dir, err := os.MkdirTemp("", "agentprocess-conformance-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system clears its folder, too
	folder := filepath.Join(dir, name)
	if err := os.Mkdir(folder, 0o755); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(folder, "PROCESS.md"), source, 0o644); err != nil {
		return "", err
	}
	words := s.opts.Config.Publish.words(folder, name, s.Group, roles)
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

// words are the command with everything filled in.
func (p *Publish) words(dir, name, group string, roles []string) []string {
	var out []string
	for _, word := range p.Command {
		if word == "{roles}" {
			for _, role := range roles {
				for _, w := range p.Role {
					out = append(out, strings.NewReplacer("{role}", role, "{group}", group).Replace(w))
				}
			}
			continue
		}
		out = append(out, strings.NewReplacer("{dir}", dir, "{name}", name).Replace(word))
	}
	return out
}
