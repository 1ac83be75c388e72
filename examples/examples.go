// Package examples embeds the example files that the binary itself uses.
package examples

import _ "embed"

// Directory is the default directory of a development stack.
//
//go:embed directory.yaml
var Directory []byte
