package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentprocess-temporal/server/activities"
	"github.com/agentprocess-temporal/server/internal/rebuild"
	"github.com/agentprocess-temporal/server/internal/server"
)

func init() { commands[groupServe] = append(commands[groupServe], newRebuildCommand) }

func newRebuildCommand() *cobra.Command {
	var f serverFlags
	var dry, asJSON bool
	c := &cobra.Command{
		Use:   "rebuild",
		Short: "Make the read model in Postgres again from Temporal",
		Long: `Make the read model in Postgres again from Temporal.

It compares every run's record with the run's workflow, stores what Temporal
knows and Postgres does not, and names what only an operator can decide. Run it
after a store was restored from a backup, while a server is up: the workflows are
asked. Callers may go on meanwhile. Temporal is found as the server finds it.

It exits with 0 if everything is as it should be, or was mended, and with 1 if
something is left: with --dry-run, whatever was found.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := f.stores()
			if err != nil {
				return err
			}
			out := json.NewEncoder(c.OutOrStdout())
			summary, err := server.Rebuild(c.Context(), o, dry, func(found activities.Finding) {
				if asJSON {
					_ = out.Encode(found)
					return
				}
				printFinding(c, found)
			})
			if asJSON {
				_ = out.Encode(summary)
			} else {
				printSummary(c, summary)
			}
			if err == nil && !summary.Whole(dry) {
				err = errReported
			}
			return err
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.postgres, "postgres", "", "Postgres DSN (AGENTPROCESS_POSTGRES)")
	fl.StringVar(&f.payloadKeys, "payload-keys", env("AGENTPROCESS_PAYLOAD_KEYS", ""), "file with the keys that payloads are encrypted with, if they are (AGENTPROCESS_PAYLOAD_KEYS)")
	fl.BoolVar(&dry, "dry-run", false, "compare only")
	fl.BoolVar(&asJSON, "json", false, "print a JSON object a finding, and the summary last")
	return c
}

// stores are the options that say where the stores are.
func (f serverFlags) stores() (o server.Options, err error) {
	if o.Postgres = f.dsn(); o.Postgres == "" {
		return o, errors.New("say which database: --postgres or AGENTPROCESS_POSTGRES")
	}
	if o.Temporal, err = temporalOptions(); err != nil {
		return o, err
	}
	o.Log = slog.New(slog.DiscardHandler)
	return o, f.codec(&o)
}

func printFinding(c *cobra.Command, f activities.Finding) {
	mended := ""
	if f.Mended {
		mended = ", mended"
	}
	_, _ = fmt.Fprintf(c.OutOrStdout(), "%s %s: %s (workflow at %d, record at %d)%s", f.Org, f.RunID, f.Found, f.WorkflowSeq, f.RecordSeq, mended)
	if f.Detail != "" {
		_, _ = fmt.Fprintf(c.OutOrStdout(), ": %s", plain(f.Detail))
	}
	_, _ = fmt.Fprintln(c.OutOrStdout())
}

func printSummary(c *cobra.Command, s rebuild.Summary) {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(s.Found)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, s.Found[what]))
	}
	if len(parts) > 0 {
		parts[0] = ": " + parts[0]
	}
	_, _ = fmt.Fprintf(c.OutOrStdout(), "%d runs%s\n", s.Runs, strings.Join(parts, ", "))
}
