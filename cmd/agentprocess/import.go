package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentprocess-temporal/server/httpapi"
	"github.com/agentprocess-temporal/server/operations"
)

func newImportCommand() *cobra.Command {
	var to target
	cmd := &cobra.Command{
		Use:   "import DIR",
		Short: "Send the process in a folder to the server, as a draft",
		Long: `Send the process in a folder to the server, as a draft. The folder must be
called as the process. Nothing changes for anybody until the draft is published.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := to.client()
			if err != nil {
				return err
			}
			draft, err := importFolder(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			_, _ = fmt.Fprintf(out, "Imported %s as a draft (hash %s).\n", draft.Name, draft.Hash)
			printRoles(out, draft.Roles)
			printSystems(out, draft.Systems)
			printNext(out, draft)
			return nil
		},
	}
	to.flags(cmd)
	return cmd
}

// importFolder sends the process of a folder. What can be seen to be wrong here
// is not sent.
func importFolder(ctx context.Context, c *apiClient, dir string) (operations.Draft, error) {
	var draft operations.Draft
	if !isFolder(dir) {
		return draft, fmt.Errorf("%s is not a folder; a process travels as the folder that has its %s", dir, processFile)
	}
	s := readFolder(dir)
	if err := s.failed(); err != nil {
		return draft, err
	}
	if len(s.text) > httpapi.MaxSource {
		return draft, fmt.Errorf("%s is larger than the %d bytes that a server takes", s.path, httpapi.MaxSource)
	}
	err := c.call(ctx, http.MethodPost, "/processes", s.text, &draft)
	var listed *issuesError
	if errors.As(err, &listed) {
		for i, issue := range listed.issues {
			if atPlace.MatchString(issue) {
				listed.issues[i] = s.path + ":" + issue
			}
		}
	}
	return draft, err
}

// atPlace matches an issue that names a place in the file.
var atPlace = regexp.MustCompile(`^\d+:\d+: `)

func printRoles(w io.Writer, roles map[string]string) {
	if len(roles) > 0 {
		_, _ = fmt.Fprintf(w, "Roles:\n%s\n", strings.Join(rolesLines(roles), "\n"))
	}
}

// printSystems shows what the organization must have outside the server (spec §2.1).
func printSystems(w io.Writer, systems []string) {
	if len(systems) > 0 {
		_, _ = fmt.Fprintf(w, "Systems required: %s\n", plain(strings.Join(systems, ", ")))
	}
}

// printNext says what a draft still needs.
func printNext(w io.Writer, d operations.Draft) {
	var flags strings.Builder
	for _, line := range unbound(d.Roles) {
		flags.WriteString(" --role " + line + "=GROUP")
	}
	_, _ = fmt.Fprintf(w, "Next: agentprocess publish %s%s\n", d.Name, plain(flags.String()))
}
