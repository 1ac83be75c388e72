package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentprocess-temporal/server/devstack"
)

// startTime bounds the start of both servers; Temporal may have to be built.
const startTime = 20 * time.Minute

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: teststack -- COMMAND [ARGUMENT…]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, args)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "teststack:", err)
	}
	os.Exit(code)
}

func run(ctx context.Context, args []string) (code int, err error) {
	dir, err := os.MkdirTemp("", "agentprocess-teststack-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// PostgreSQL does not run as root: its user must get through.
	if err := os.Chmod(dir, 0o711); err != nil {
		return 1, err
	}
	var postgres *devstack.Postgres
	var temporal *devstack.Temporal
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	group, starting := errgroup.WithContext(starting)
	group.Go(func() (err error) {
		postgres, err = devstack.StartPostgres(starting, devstack.PostgresOptions{Dir: dir, Fast: true})
		return err
	})
	group.Go(func() (err error) {
		temporal, err = devstack.StartTemporal(starting, devstack.TemporalOptions{Memory: true, Headless: true, Log: os.Stderr})
		return err
	})
	err = group.Wait()
	defer func() {
		if temporal != nil {
			temporal.Stop()
		}
		if postgres != nil {
			_ = postgres.Remove()
		}
	}()
	if err != nil {
		return 1, err
	}

	// Ctrl-C reaches the command by itself, being of the same terminal; a
	// SIGTERM to us is passed on.
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(),
		"AGENTPROCESS_TEST_POSTGRES="+postgres.DSN("postgres"),
		"AGENTPROCESS_TEST_TEMPORAL="+temporal.Address)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode(), nil
	default: // not started, or ended by a signal
		return 1, err
	}
}
