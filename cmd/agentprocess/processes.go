package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agentprocess-temporal/server/operations"
)

func newProcessesCommand() *cobra.Command {
	var to target
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "processes",
		Short: "List what is published, and drafts that are not",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := to.client()
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := c.call(cmd.Context(), http.MethodGet, "/processes", nil, &raw); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd, raw)
			}
			var listing operations.Listing
			if err := json.Unmarshal(raw, &listing); err != nil {
				return fmt.Errorf("the server's list cannot be read: %w", err)
			}
			return printListing(cmd.OutOrStdout(), listing)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	to.flags(cmd)
	return cmd
}

func printListing(w io.Writer, l operations.Listing) error {
	drafts := unpublished(l)
	if len(l.Published)+len(drafts) == 0 {
		_, err := fmt.Fprintln(w, "There is no process yet. Publish one with: agentprocess publish DIR")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if len(l.Published) > 0 {
		_, _ = fmt.Fprintln(t, "PROCESS\tVERSION\tHASH\tROLES\tSYSTEMS\tDESCRIPTION")
	}
	for _, p := range l.Published {
		_, _ = fmt.Fprintf(t, "%s\t%d\t%.12s\t%s\t%s\t%s\n", plain(p.Name), p.Version, plain(p.Hash),
			orDash(rolesLine(p.Roles)), orDash(strings.Join(p.Systems, ",")), oneLine(p.Description, 72))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(drafts) > 0 && len(l.Published) > 0 {
		_, _ = fmt.Fprintln(w)
	}
	t = tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if len(drafts) > 0 {
		_, _ = fmt.Fprintln(t, "DRAFT\tHASH\tROLES\tSYSTEMS")
	}
	for _, d := range drafts {
		if d.Hash == "" {
			_, _ = fmt.Fprintf(t, "%s\t-\timport it again: it breaks rules that this server has\n", plain(d.Name))
			continue
		}
		_, _ = fmt.Fprintf(t, "%s\t%.12s\t%s\t%s\n", plain(d.Name), plain(d.Hash), orDash(rolesLine(d.Roles)), orDash(strings.Join(d.Systems, ",")))
	}
	return t.Flush()
}

// unpublished are the drafts that publishing would make a version of.
func unpublished(l operations.Listing) []operations.Draft {
	newest := map[string]operations.Published{}
	for _, p := range l.Published {
		newest[p.Name] = p
	}
	var out []operations.Draft
	for _, d := range l.Drafts {
		if p, ok := newest[d.Name]; !ok || p.Hash != d.Hash || !maps.Equal(p.Roles, d.Roles) {
			out = append(out, d)
		}
	}
	return out
}

func rolesLine(roles map[string]string) string {
	var pairs []string
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		pairs = append(pairs, role+"="+cmp.Or(roles[role], "?"))
	}
	return strings.Join(pairs, ",")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return oneLine(s, 60)
}
