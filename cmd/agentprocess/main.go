package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

// commands are the commands of the program, by their place in the help. A file
// that brings another adds it here, or from its own init.
var commands = map[string][]func() *cobra.Command{
	groupWrite:   {newValidateCommand, newHashCommand, newMapCommand},
	groupCatalog: {newImportCommand, newBindCommand, newPublishCommand, newProcessesCommand, newRunsCommand, newChecksCommand},
	groupServe:   {newDevCommand, newTokenCommand, newServerCommand, newMigrateCommand, newSetupTemporalCommand},
}

// The groups of the help.
const (
	groupWrite   = "write"
	groupCatalog = "catalog"
	groupServe   = "serve"
)

// buildVersion is the version of a release, set when it is built.
var buildVersion = ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs the program and returns its exit code. It prints every error that
// a command returns.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var ran *failure
	var misused usageError
	if !errors.As(err, &ran) || errors.As(err, &misused) {
		_, _ = fmt.Fprintf(stderr, "Error: %s\nSee '%s --help'.\n", err, cmd.CommandPath())
		return 2
	}
	printError(stderr, ran.error)
	return 1
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "agentprocess",
		Short:         "Processes that agents and people carry out together",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          help,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddGroup(
		&cobra.Group{ID: groupWrite, Title: "Write a process:"},
		&cobra.Group{ID: groupCatalog, Title: "Work with a server:"},
		&cobra.Group{ID: groupServe, Title: "Run a server:"},
	)
	for group, list := range commands {
		for _, command := range list {
			cmd := command()
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	markFailures(root)
	return root
}

func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// failure is an error of a command that was called rightly. Any other error is
// from reading the command line.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

// usageError is for what only a command itself sees to be a wrong call.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func misuse(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// errReported fails a command that has printed what is wrong.
var errReported = errors.New("reported")

func markFailures(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := run(cmd, args); err != nil {
				return &failure{err}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		markFailures(sub)
	}
}

// printError prints an error, and on lines of their own the issues that came
// with it.
func printError(w io.Writer, err error) {
	if errors.Is(err, errReported) {
		return
	}
	_, _ = fmt.Fprintf(w, "Error: %s\n", plain(err.Error()))
	var listed *issuesError
	if errors.As(err, &listed) {
		for _, issue := range listed.issues {
			_, _ = fmt.Fprintln(w, plain(issue))
		}
	}
}

// issuesError is an error with issues to list under it.
type issuesError struct {
	message string
	issues  []string
}

func (e *issuesError) Error() string { return e.message }

func version() string {
	if buildVersion != "" {
		return buildVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
