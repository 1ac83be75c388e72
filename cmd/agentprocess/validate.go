package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentprocess-temporal/server/process"
)

func newValidateCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate PATH…",
		Short: "Check process files against every rule of the format",
		Long: `Check process files against every rule of the format.

A PATH is a file, a folder with a PROCESS.md, or a folder of such folders. A
folder must be called as the process in it. Every issue is printed as
path:line:col: issue, and the exit code is 1 when there is any.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var found []*source
			for _, path := range args {
				found = append(found, readAll(path)...)
			}
			if asJSON {
				if err := printJSON(cmd, verdicts(found)); err != nil {
					return err
				}
			} else {
				for _, s := range found {
					_, _ = fmt.Fprintln(cmd.OutOrStdout(), verdictLines(s))
				}
			}
			if slices.ContainsFunc(found, func(s *source) bool { return !s.ok() }) {
				return errReported
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array with an object a file")
	return cmd
}

func verdictLines(s *source) string {
	if !s.ok() {
		return strings.Join(s.lines(), "\n")
	}
	steps := "1 step"
	if n := len(s.process.Steps); n != 1 {
		steps = fmt.Sprintf("%d steps", n)
	}
	line := fmt.Sprintf("%s: ok (%s, %s", s.path, s.process.Name, steps)
	if profiles := names(s.process.Needs().Profiles); len(profiles) > 0 {
		line += ", needs " + strings.Join(profiles, " and ")
	}
	return line + ")"
}

// verdict is what --json says of a file.
type verdict struct {
	Path string `json:"path"`
	OK   bool   `json:"ok"`
	// Name and Hash are empty where the file is not valid.
	Name string `json:"name"`
	Hash string `json:"hash"`
	// Issues have line and column 0 where the file could not be read.
	Issues process.Issues `json:"issues"`
	// Needs is what a server must offer beyond the core, to publish it.
	Needs needs `json:"needs"`
}

type needs struct {
	Profiles []string `json:"profiles"`
	Tools    []string `json:"tools"`
}

func verdicts(found []*source) []verdict {
	out := make([]verdict, len(found))
	for i, s := range found {
		v := verdict{Path: s.path, OK: s.ok(), Issues: s.issues, Needs: needs{[]string{}, []string{}}}
		if s.err != nil {
			v.Issues = process.Issues{{Message: s.err.Error()}}
		}
		if v.Issues == nil {
			v.Issues = process.Issues{}
		}
		if s.ok() {
			n := s.process.Needs()
			v.Name, v.Hash, v.Needs = s.process.Name, s.process.Hash, needs{names(n.Profiles), names(n.Tools)}
		}
		out[i] = v
	}
	return out
}

// names lists what is used, sorted, each once.
func names(uses []process.Use) []string {
	out := make([]string, len(uses))
	for i, u := range uses {
		out[i] = u.Name
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func printJSON(cmd *cobra.Command, value any) error {
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}
