package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newMapCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "map PATH",
		Short: "Draw a process as a Mermaid flowchart",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := readOne(args[0])
			if err := s.failed(); err != nil {
				return err
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), s.process.Mermaid())
			return err
		},
	}
}
