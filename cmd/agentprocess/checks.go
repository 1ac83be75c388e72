package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agentprocess-temporal/server/operations"
)

func newChecksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "checks",
		Short: "See how far the checks of a process can be trusted",
		Args:  cobra.NoArgs,
		RunE:  help,
	}
	cmd.AddCommand(newChecksReportCommand())
	return cmd
}

func newChecksReportCommand() *cobra.Command {
	var to target
	var since string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "report PROCESS",
		Short: "Compare the checks of a process with what people decided",
		Long: `Compare what a model answered about submissions with what people then decided
about the same ones: approved or completed as they were, or rejected, returned,
replaced. One line a question, version and model, for advisory and for enforced
checks; the newest version first. docs/checks.md says how to read it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := to.client()
			if err != nil {
				return err
			}
			path := "/processes/" + url.PathEscape(args[0]) + "/checks"
			if since != "" {
				path += "?since=" + url.QueryEscape(since)
			}
			var raw json.RawMessage
			if err := c.call(cmd.Context(), http.MethodGet, path, nil, &raw); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd, raw)
			}
			var report operations.CheckReport
			if err := json.Unmarshal(raw, &report); err != nil {
				return fmt.Errorf("the server's report cannot be read: %w", err)
			}
			return printReport(cmd.OutOrStdout(), report)
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "only verdicts of this last span, such as 30d, 12h or 45m (default: all that are remembered)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	to.flags(cmd)
	return cmd
}

func printReport(w io.Writer, r operations.CheckReport) error {
	if len(r.Questions) == 0 {
		_, err := fmt.Fprintln(w, "No submission of this process was checked in that time.")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "VERSION\tSTEP\tQUESTION\tMODE\tMODEL\tASKED\tUNSURE\tDECIDED\tAGREEMENT (95 %)\tFALSE PASSES\tFALSE FAILS")
	for _, m := range r.Questions {
		mode := "enforced"
		if m.Advisory {
			mode = "advisory"
		}
		unsure := "-"
		if m.Asked > m.NotAnswered {
			unsure = percent(m.UnsureShare)
		}
		_, _ = fmt.Fprintf(t, "%d\t%s\t%d. %s\t%s\t%s\t%d\t%s\t%d\t%s\t%d\t%d\n", m.Version, plain(m.Step), m.Question,
			oneLine(m.Ask, 48), mode, orDash(m.Model), m.Asked, unsure, m.Compared, agreement(m.Agreement), m.FalsePasses, m.FalseFails)
	}
	return t.Flush()
}

// agreement is a share with its interval, where there is one.
func agreement(s operations.Share) string {
	if s.Share == nil || s.Low == nil || s.High == nil {
		return "-"
	}
	return fmt.Sprintf("%s (%s–%s)", percent(*s.Share), percent(*s.Low), percent(*s.High))
}

func percent(f float64) string { return fmt.Sprintf("%.0f %%", 100*f) }
