package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/agentprocess-temporal/server/internal/server"
	"github.com/agentprocess-temporal/server/workflows"
)

func newSetupTemporalCommand() *cobra.Command {
	var printOnly bool
	c := &cobra.Command{
		Use:   "setup-temporal",
		Short: "Register the search attributes that runs use",
		Long: `Register the search attributes that runs use in the namespace of Temporal's
environment configuration. With --print, print the commands that do it: for
Temporal Cloud, and for whoever may not do it themselves.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := temporalOptions()
			if err != nil {
				return err
			}
			if o.Namespace == "" {
				o.Namespace = client.DefaultNamespace
			}
			if printOnly {
				printSetup(c, o.Namespace)
				return nil
			}
			t, err := client.DialContext(c.Context(), o)
			if err != nil {
				return err
			}
			defer t.Close()
			added, err := server.SetupSearchAttributes(c.Context(), t, o.Namespace)
			if err != nil {
				return err
			}
			for _, name := range added {
				c.Printf("registered %s\n", name)
			}
			if len(added) == 0 {
				c.Println("nothing to do: all search attributes are registered")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&printOnly, "print", false, "print the commands instead of running them")
	return c
}

func printSetup(c *cobra.Command, namespace string) {
	attributes := workflows.SearchAttributes()
	out := c.OutOrStdout()
	fmt.Fprintln(out, "# self-hosted")
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		fmt.Fprintf(out, "temporal operator search-attribute create --namespace %s --name %s --type %s\n", namespace, name, attributes[name])
	}
	fmt.Fprintln(out, "# Temporal Cloud")
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		fmt.Fprintf(out, "tcld namespace search-attributes add --namespace %s --search-attribute \"%s=%s\"\n", namespace, name, attributes[name])
	}
}
