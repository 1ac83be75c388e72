package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/agentprocess-temporal/server/operations"
)

func newPublishCommand() *cobra.Command {
	var to target
	var pairs []string
	cmd := &cobra.Command{
		Use:   "publish NAME|DIR [--role ROLE=GROUP…]",
		Short: "Make a draft a version that can be started",
		Long: `Make a draft a version that can be started.

With a folder, import it first. With --role, bind these roles first. A role that
was bound before stays bound; one that never was is refused. Publishing what is
published already makes no new version.`,
		Example: `  agentprocess publish supplier-onboarding
  agentprocess publish ./supplier-onboarding --role finance-approver=finance`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			roles, err := parseRoles(pairs)
			if err != nil {
				return err
			}
			c, err := to.client()
			if err != nil {
				return err
			}
			published, err := publish(cmd.Context(), c, args[0], roles)
			if err != nil {
				return err
			}
			printPublished(cmd, published)
			return nil
		},
	}
	roleFlag(cmd, &pairs)
	to.flags(cmd)
	return cmd
}

// processName is what `name` can be (spec §2.1).
var processName = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

// publish publishes a draft by its name, or the process of a folder: what is
// there as a folder is one, even if it could be a name.
func publish(ctx context.Context, c *apiClient, what string, roles map[string]string) (published operations.Published, err error) {
	name := what
	switch {
	case isFolder(what):
		draft, err := importFolder(ctx, c, what)
		if err != nil {
			return published, err
		}
		name = draft.Name
	case !processName.MatchString(what):
		return published, fmt.Errorf("%s is neither a folder nor the name of a process", what)
	}
	if len(roles) > 0 {
		if _, err := bind(ctx, c, name, roles); err != nil {
			return published, err
		}
	}
	err = c.call(ctx, http.MethodPost, "/processes/"+url.PathEscape(name)+"/publish", nil, &published)
	return published, err
}

func printPublished(cmd *cobra.Command, p operations.Published) {
	out := cmd.OutOrStdout()
	if p.Created {
		_, _ = fmt.Fprintf(out, "Published %s version %d (hash %s).\n", p.Name, p.Version, p.Hash)
	} else {
		_, _ = fmt.Fprintf(out, "Nothing new: version %d of %s has this content and these roles already (hash %s).\n", p.Version, p.Name, p.Hash)
	}
	printRoles(out, p.Roles)
	printSystems(out, p.Systems)
}
