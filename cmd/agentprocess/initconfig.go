package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentprocess-temporal/server/examples"
	"github.com/agentprocess-temporal/server/internal/stack"
)

func newInitCommand() *cobra.Command {
	var directory string
	c := &cobra.Command{
		Use:   "init DIR",
		Short: "Write the files that a server needs: keys, secret, and tokens to try it with",
		Long: `Write the files that a server needs into DIR, keeping those that are there:
keys and secret, a key pair for bearer tokens, a directory, and tokens.json with
a token for every identity of the directory. Whoever has token-key.pem can sign
in as anybody: with tokens of your own, delete it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir := args[0]
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			file, err := stack.EnsureDirectory(dir, directory, examples.Directory)
			if err != nil {
				return err
			}
			tokens, err := stack.WriteConfig(dir, file)
			if err != nil {
				return err
			}
			path := filepath.Join(dir, "tokens.json")
			if err := writeJSON(path, tokens); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), `agentprocess server --directory %s --keys %s --secret %s \
  --token-key %s --token-issuer %s --token-audience %s
Tokens: %s
`, file, filepath.Join(dir, "keys"), filepath.Join(dir, "secret"), filepath.Join(dir, stack.PublicKeyFile), stack.Issuer, stack.Audience, path)
			return err
		},
	}
	c.Flags().StringVar(&directory, "directory", "", "directory file (default: DIR/directory.yaml, written with four people and two agents)")
	return c
}

func init() { commands[groupServe] = append(commands[groupServe], newInitCommand) }

// writeJSON writes a file that only its owner may read.
func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}
