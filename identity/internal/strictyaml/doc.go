// Package strictyaml reads YAML configuration files node by node rather than
// into structs: so each problem has its line and our words, a scalar has the
// type it is written with (`yes` is no boolean), and one problem hides no other.
//
// It imports yaml.v3 only. Start at [Read].
package strictyaml
