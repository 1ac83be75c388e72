package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newTokenCommand() *cobra.Command {
	var data, as string
	cmd := &cobra.Command{
		Use:     "token --data DIR --as IDENTITY",
		Short:   "Print a bearer token of a development stack",
		Example: "  agentprocess token --data .dev --as person:mira@example.com",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, err := readStack(data)
			if err != nil {
				return err
			}
			token, err := tokenOf(info, as)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
			return err
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "directory of the development stack")
	cmd.Flags().StringVar(&as, "as", "", "whose token, such as agent:a1 or person:mira@example.com")
	for _, name := range []string{"data", "as"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is right above
		}
	}
	return cmd
}
