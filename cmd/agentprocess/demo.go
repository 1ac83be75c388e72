package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentprocess-temporal/server/devstack"
	"github.com/agentprocess-temporal/server/examples"
	"github.com/agentprocess-temporal/server/internal/stack"
	"github.com/agentprocess-temporal/server/workflows"
)

func init() { commands[groupServe] = append(commands[groupServe], newDemoCommand) }

func newDemoCommand() *cobra.Command {
	o := stack.Options{DefaultDirectory: examples.Directory}
	var keep bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch a supplier go from a file to onboarded",
		Long: `Start a development stack and take one supplier through it: a file is imported,
bound and published; an agent works the step over MCP; finance rejects once and
then approves; and in the middle the server is killed.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return runDemo(ctx, o, keep, c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&o.Dir, "data", ".demo", "directory that keeps everything")
	c.Flags().StringVar(&o.Addr, "addr", "127.0.0.1:8080", "address of the server; port 0, or one that is taken, gives a free one")
	c.Flags().BoolVar(&keep, "keep", false, "leave the stack running at the end, until Ctrl-C")
	return c
}

// demo is one showing: a stack, and where to tell what happens.
type demo struct {
	stack *stack.Stack
	dir   string
	out   io.Writer
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, "\n"+format+"\n", args...) }

func runDemo(ctx context.Context, o stack.Options, keep bool, out io.Writer) error {
	st, log, err := openStack(ctx, o, out)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	defer st.Stop()
	d := &demo{stack: st, dir: o.Dir, out: out}
	runID, err := d.onboard(ctx)
	if err != nil {
		return fmt.Errorf("%w (more in %s)", err, log.Name())
	}
	d.say("The run in the Temporal UI:\n  %s", d.address(runID))
	if !keep {
		d.say("The stack stops now. Start it again, with this run in it: agentprocess dev --data %s", o.Dir)
		return nil
	}
	d.say("The stack stays up until Ctrl-C.")
	<-ctx.Done()
	return nil
}

// address is where the Temporal UI shows a run.
func (d *demo) address(runID string) string {
	return d.stack.Info.TemporalUI + "/namespaces/" + devstack.DefaultNamespace + "/workflows/" +
		url.PathEscape(workflows.WorkflowID("acme", runID))
}

// command runs a command of this binary as a user would type it.
func (d *demo) command(ctx context.Context, args ...string) error {
	fmt.Fprintf(d.out, "$ agentprocess %s\n", strings.Join(args, " "))
	if code := execute(ctx, append(args, "--data", d.dir), d.out, d.out); code != 0 {
		return fmt.Errorf("agentprocess %s: exit code %d", args[0], code)
	}
	return nil
}

// kill ends the server with SIGKILL and waits until its successor is ready.
func (d *demo) kill(ctx context.Context) error {
	pid := d.stack.Server.Pid()
	d.say("Killing the server, process %d, with SIGKILL: the agent holds the step and has submitted nothing.", pid)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for d.stack.Server.Pid() == pid || d.stack.Server.Pid() == 0 {
		select {
		case <-ctx.Done():
			return errors.New("the server was not started again")
		case <-time.After(20 * time.Millisecond):
		}
	}
	ready := strings.TrimSuffix(d.stack.Info.MCP, "/mcp") + "/readyz"
	if err := devstack.WaitReady(ctx, ready, d.stack.Server.Done()); err != nil {
		return err
	}
	d.say("It is back, as process %d. The agent goes on with the token it has.", d.stack.Server.Pid())
	return nil
}
