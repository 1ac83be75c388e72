package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentprocess-temporal/server/examples"
	"github.com/agentprocess-temporal/server/internal/stack"
)

func newDevCommand() *cobra.Command {
	o := stack.Options{DefaultDirectory: examples.Directory}
	var answers evaluatorFlags
	c := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine: Postgres, Temporal with its UI, and the server",
		Long: `Run a development stack, all of it on loopback: a private PostgreSQL (from the
installed binaries), the Temporal dev server with its UI (built once if it is
not on PATH), a server to sign in at as anybody of the directory, without
passwords, and the server. Ctrl-C ends all of it; the next start with the
same --data goes on where it was.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			o.ServerArgs = answers.args()
			return runDev(ctx, o, c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&o.Dir, "data", ".dev", "directory that keeps everything")
	c.Flags().StringVar(&o.Addr, "addr", "127.0.0.1:8080", "address of the server; port 0, or one that is taken, gives a free one")
	c.Flags().StringVar(&o.Directory, "directory", "", "directory file: people, groups, operators, agents (default: one with four people and two agents)")
	c.Flags().DurationVar(&o.Lease, "lease", 10*time.Minute, "how long a claim lasts")
	answers.flags(c.Flags())
	return c
}

func runDev(ctx context.Context, o stack.Options, out io.Writer) error {
	st, log, err := openStack(ctx, o, out)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	defer st.Stop()
	fmt.Fprintf(out, `
MCP          %s
Login        %s
Catalog API  %s
Temporal UI  %s
Temporal     %s
Postgres     %s
Metrics      %s
Tokens       %s
Log          %s

Add the MCP address to an MCP client: it opens a browser to sign in, and is an agent.
Publish a process:  agentprocess publish DIR --role ROLE=GROUP --data %s
Ctrl-C ends all of it.
`, st.Info.MCP, st.Info.Login, st.Info.API, st.Info.TemporalUI, st.Info.TemporalAddress, st.Info.Postgres, st.Info.Metrics,
		filepath.Join(o.Dir, stack.InfoFile), log.Name(), o.Dir)
	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "stopping")
		return nil
	case <-st.Server.Done():
		return fmt.Errorf("the server does not stay up: %w (more in %s)", st.Server.Err(), log.Name())
	case <-st.Postgres.Done():
		return fmt.Errorf("PostgreSQL ended (more in %s)", log.Name())
	}
}

// openStack starts a stack of this very binary, with what its parts say in
// DIR/dev.log and a line a step on out.
func openStack(ctx context.Context, o stack.Options, out io.Writer) (*stack.Stack, *os.File, error) {
	var err error
	if o.Binary, err = os.Executable(); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o711); err != nil {
		return nil, nil, err
	}
	log, err := os.OpenFile(filepath.Join(o.Dir, "dev.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	o.Log, o.Progress = log, out
	st, err := stack.Start(ctx, o)
	if err != nil {
		_ = log.Close()
		return nil, nil, fmt.Errorf("%w (more in %s)", err, log.Name())
	}
	return st, log, nil
}
