package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentprocess-temporal/server/operations"
)

func newBindCommand() *cobra.Command {
	var to target
	var pairs []string
	cmd := &cobra.Command{
		Use:     "bind NAME --role ROLE=GROUP…",
		Short:   "Say which group of the organization has a role of a draft",
		Example: "  agentprocess bind supplier-onboarding --role finance-approver=finance",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			roles, err := parseRoles(pairs)
			if err != nil {
				return err
			}
			if len(roles) == 0 {
				return misuse("say what to bind: --role ROLE=GROUP")
			}
			c, err := to.client()
			if err != nil {
				return err
			}
			draft, err := bind(cmd.Context(), c, args[0], roles)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			_, _ = fmt.Fprintf(out, "Bound %s.\n", draft.Name)
			printRoles(out, draft.Roles)
			printNext(out, draft)
			return nil
		},
	}
	roleFlag(cmd, &pairs)
	to.flags(cmd)
	return cmd
}

func roleFlag(cmd *cobra.Command, pairs *[]string) {
	cmd.Flags().StringArrayVar(pairs, "role", nil, "a role of the process and the group that has it, as ROLE=GROUP; may be repeated")
}

// parseRoles reads the values of --role.
func parseRoles(pairs []string) (map[string]string, error) {
	roles := map[string]string{}
	for _, pair := range pairs {
		role, group, ok := strings.Cut(pair, "=")
		if !ok || role == "" || group == "" {
			return nil, misuse("--role %q: it must be ROLE=GROUP", pair)
		}
		if before, twice := roles[role]; twice && before != group {
			return nil, misuse("--role: %s cannot be both %s and %s", role, before, group)
		}
		roles[role] = group
	}
	return roles, nil
}

func bind(ctx context.Context, c *apiClient, name string, roles map[string]string) (operations.Draft, error) {
	var draft operations.Draft
	body, err := json.Marshal(roles)
	if err != nil {
		return draft, err
	}
	err = c.call(ctx, http.MethodPut, "/processes/"+url.PathEscape(name)+"/roles", body, &draft)
	return draft, err
}

// unbound lists the roles that no group has.
func unbound(roles map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(roles)), func(role string) bool { return roles[role] != "" })
}
