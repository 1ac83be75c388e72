package main

import (
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentprocess-temporal/server/internal/postgres"
)

func newMigrateCommand() *cobra.Command {
	var dsn string
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the Postgres schema up to this version",
		Long: `Bring the Postgres schema up to this version. Running it again does nothing.
A schema that is newer than this binary is refused and left as it is.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if dsn == "" {
				dsn = os.Getenv("AGENTPROCESS_POSTGRES")
			}
			if dsn == "" {
				return errors.New("say which database: --postgres or AGENTPROCESS_POSTGRES")
			}
			return postgres.Migrate(c.Context(), dsn, slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)))
		},
	}
	c.Flags().StringVar(&dsn, "postgres", "", "Postgres DSN (AGENTPROCESS_POSTGRES)")
	return c
}
