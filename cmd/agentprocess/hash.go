package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newHashCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "hash PATH",
		Short: "Print the content hash of a process",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := readOne(args[0])
			if err := s.failed(); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), s.process.Hash)
			return err
		},
	}
}
