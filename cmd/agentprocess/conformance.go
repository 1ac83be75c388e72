package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentprocess-temporal/server/conformance"
)

func init() { commands[groupServe] = append(commands[groupServe], newConformanceCommand) }

// conformanceFlags are the flags of the command.
type conformanceFlags struct {
	url, config, format, profile, fixtures, junit string
	only                                          []string
	slow, list                                    bool
	parallel                                      int
}

func newConformanceCommand() *cobra.Command {
	var f conformanceFlags
	cmd := &cobra.Command{
		Use:   "conformance --url URL --config FILE",
		Short: "Check whether a server keeps the rules of Agent Process, whoever wrote it",
		Long: `Check whether a server keeps the rules of Agent Process core-2, whoever wrote it.

The runner is a client: it talks MCP to the URL, as the callers of the
configuration, and runs the publish command of the configuration if there is
one. It starts runs of its own and cancels what it leaves open.

Each check names its clause. A failure shows what was expected, what came, and
the calls that show it again. What the server does not offer is skipped by name.

It exits with 0 if every check that ran passed, with 1 if one failed, and with 2
if it could not run.`,
		Example: `  agentprocess conformance --url https://process.example.com/mcp --config conformance.yaml
  agentprocess conformance --config conformance.yaml --only "tools decide" --slow=false
  agentprocess conformance --config conformance.yaml --format junit > conformance.xml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := f.run(cmd)
			var none noVerdictError
			if errors.As(err, &none) {
				printError(cmd.ErrOrStderr(), none)
				exit(codeNoVerdict)
				return errReported
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", "", "MCP endpoint of the server (default: url of the configuration)")
	flags.StringVar(&f.config, "config", "", "YAML file with tokens and the way to publish")
	flags.StringVar(&f.format, "format", "text", strings.Join(conformance.Formats, ", "))
	flags.StringArrayVar(&f.only, "only", nil, `run these checks only: an id, in which * stands for anything, or a clause, such as "spec §3.4" or "tools decide"`)
	flags.StringVar(&f.profile, "profile", "all", "core, parallel, check or all")
	flags.StringVar(&f.fixtures, "fixtures", "", "directory of other fixtures to work through, a folder with a PROCESS.md each")
	flags.BoolVar(&f.slow, "slow", true, "run the checks that wait for a minute, or for a lease, too")
	flags.IntVar(&f.parallel, "parallel", 8, "how many checks run at once")
	flags.StringVar(&f.junit, "junit", "", "write the result to this file as JUnit XML, besides")
	flags.BoolVar(&f.list, "list", false, "list the checks and run none")
	return cmd
}

// noVerdictError is why a server was not judged. It ends the program with a code of
// its own, since 1 means that the server failed.
type noVerdictError struct{ error }

func (n noVerdictError) Unwrap() error { return n.error }

const codeNoVerdict = 2

// exit ends the program; tests put something gentler in its place.
var exit = os.Exit

func (f *conformanceFlags) run(cmd *cobra.Command) error {
	if !slices.Contains(conformance.Formats, f.format) {
		return misuse("--format is one of %s", strings.Join(conformance.Formats, ", "))
	}
	if !slices.Contains([]string{"core", "parallel", "check", "all"}, f.profile) {
		return misuse("--profile is core, parallel, check or all")
	}
	if f.list {
		for _, c := range conformance.Checks() {
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\t%s\n", c.ID, strings.Join(c.Clauses, ", "), c.Title)
		}
		return nil
	}
	if f.config == "" {
		return misuse("say who to be: --config FILE (see docs/conformance.md)")
	}
	opts := conformance.Options{URL: f.url, Only: f.only, Profile: f.profile, SkipSlow: !f.slow, Parallel: f.parallel}
	var err error
	if opts.Config, err = conformance.LoadConfig(f.config); err != nil {
		return noVerdictError{err}
	}
	if f.fixtures != "" {
		if opts.Fixtures, err = conformance.LoadFixtures(f.fixtures); err != nil {
			return noVerdictError{fmt.Errorf("%s: %w", f.fixtures, err)}
		}
	}
	suite, err := conformance.Open(cmd.Context(), opts)
	if err != nil {
		return noVerdictError{err}
	}
	report := suite.Run(cmd.Context())
	if err := report.Write(cmd.OutOrStdout(), f.format); err != nil {
		return noVerdictError{err}
	}
	if err := f.writeJUnit(report); err != nil {
		return noVerdictError{err}
	}
	switch passed, failures, _ := report.Count(); {
	case failures > 0:
		return errReported
	case passed == 0:
		return noVerdictError{errors.New("no check ran; see --only, --profile and --slow, or what was skipped")}
	}
	return nil
}

func (f *conformanceFlags) writeJUnit(report *conformance.Report) error {
	if f.junit == "" {
		return nil
	}
	file, err := os.Create(f.junit)
	if err != nil {
		return err
	}
	return errors.Join(report.Write(io.Writer(file), "junit"), file.Close())
}
