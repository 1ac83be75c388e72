package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentprocess-temporal/server/identity/audit"
	"github.com/agentprocess-temporal/server/internal/postgres"
)

// auditFlags say which rows to show, and from where.
type auditFlags struct {
	to        target
	query     audit.Query
	json, own bool
	org       string
}

func newAuditCommand() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read the audit log (for operators)",
		Long: `Read the audit log: every write, and every call that was refused because of who
made it, the oldest first. Operators read that of their organization from the
server. Whoever runs the server reads any from the database: with --database, and
AGENTPROCESS_POSTGRES. Calls with a token that proved nobody belong to no
organization: --database --org "".`,
		Example: `  agentprocess audit --run r_4f1c
  agentprocess audit --result forbidden --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			read, done, err := f.source(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			return printAudit(cmd.Context(), cmd.OutOrStdout(), f.query, read, f.json)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.query.RunID, "run", "", "only of this run")
	fl.StringVar(&f.query.Caller, "caller", "", "only of this agent or person")
	fl.StringVar(&f.query.Action, "action", "", "only this tool or call, such as decide")
	fl.StringVar(&f.query.Result, "result", "", "only with this result, such as forbidden")
	fl.StringVar(&f.query.After, "after", "", "only behind this place, as the last column shows it")
	fl.BoolVar(&f.json, "json", false, "one JSON object a line, with everything that is known")
	fl.BoolVar(&f.own, "database", false, "read the database itself")
	fl.StringVar(&f.org, "org", "", "with --database: the organization; empty for calls that proved nobody")
	f.to.flags(cmd)
	return cmd
}

func init() { commands[groupCatalog] = append(commands[groupCatalog], newAuditCommand) }

// readAudit reads one page.
type readAudit func(ctx context.Context, q audit.Query) ([]audit.Entry, error)

func (f *auditFlags) source(ctx context.Context) (read readAudit, done func(), err error) {
	if f.own {
		pool, err := postgres.Open(ctx, os.Getenv("AGENTPROCESS_POSTGRES"))
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, q audit.Query) ([]audit.Entry, error) {
			q.Org = f.org
			return audit.List(ctx, pool, q)
		}, pool.Close, nil
	}
	c, err := f.to.client()
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, q audit.Query) ([]audit.Entry, error) {
		v := url.Values{}
		for name, value := range map[string]string{"after": q.After, "run": q.RunID, "caller": q.Caller, "action": q.Action, "result": q.Result} {
			if value != "" {
				v.Set(name, value)
			}
		}
		var page struct{ Items []audit.Entry }
		err := c.call(ctx, http.MethodGet, "/audit?"+v.Encode(), nil, &page)
		return page.Items, err
	}, func() {}, nil
}

// printAudit prints all pages.
func printAudit(ctx context.Context, out io.Writer, q audit.Query, read readAudit, asJSON bool) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if !asJSON {
		_, _ = fmt.Fprintln(table, "AT\tWHO\tCLIENT\tWHAT\tRUN\tRESULT\tREQUEST\tPLACE")
	}
	for {
		entries, err := read(ctx, q)
		if err != nil {
			return err
		}
		for _, e := range entries {
			q.After = e.Place()
			if asJSON {
				if err := json.NewEncoder(out).Encode(e); err != nil {
					return err
				}
				continue
			}
			about := e.RunID
			if about == "" {
				about = e.Process
			}
			_, _ = fmt.Fprint(table, e.At.UTC().Format(time.RFC3339))
			// Callers chose some of it: one line each, whatever it holds.
			for _, cell := range []string{auditWho(e), e.Client, e.Action, about, e.Result, e.RequestID} {
				_, _ = fmt.Fprintf(table, "\t%s", oneLine(cell, 120))
			}
			_, _ = fmt.Fprintf(table, "\t%s\n", e.Place())
		}
		if len(entries) == 0 {
			return table.Flush()
		}
	}
}

// auditWho names the caller as a reader wants it.
func auditWho(e audit.Entry) string {
	switch {
	case e.Caller == "" && e.Remote != "":
		return "from " + e.Remote
	case e.Caller == "":
		return "?"
	case e.OnBehalfOf != "":
		return e.Kind + ":" + e.Caller + " for " + e.OnBehalfOf
	}
	return e.Kind + ":" + e.Caller
}
