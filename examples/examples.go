// Package examples embeds the example files that the binary itself uses.
package examples

import _ "embed"

// Directory is the default directory of a development stack.
//
//go:embed directory.yaml
var Directory []byte

// SupplierOnboarding is the process that the demo runs.
//
//go:embed supplier-onboarding/PROCESS.md
var SupplierOnboarding []byte
