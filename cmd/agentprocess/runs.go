package main

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

func newRunsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "Look after runs (for operators)",
		Args:  cobra.NoArgs,
		RunE:  help,
	}
	cmd.AddCommand(newRunsDeleteCommand())
	return cmd
}

func newRunsDeleteCommand() *cobra.Command {
	var to target
	cmd := &cobra.Command{
		Use:   "delete RUNID",
		Short: "Delete a run that is over, and everything kept of it",
		Long: `Delete a run that is over, and everything kept of it: its record, its files, its
requests and its history in Temporal. There is no way back.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := to.client()
			if err != nil {
				return err
			}
			var deleted struct{ RunID string }
			if err := c.call(cmd.Context(), http.MethodDelete, "/runs/"+url.PathEscape(args[0]), nil, &deleted); err != nil {
				return err
			}
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "Deleted run %s: its record, files, requests and history.\n", plain(deleted.RunID))
			return nil
		},
	}
	to.flags(cmd)
	return cmd
}
