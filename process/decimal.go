package process

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// decimal is a JSON number in a form that is equal exactly when the values are:
// `1.50`, `15e-1` and `150E-2` all become `15e-1`. Nothing is rounded, and an
// exponent of any size costs no more than its own digits.
func decimal(text string) string {
	text, negative := strings.CutPrefix(text, "-")
	mantissa, exponent := text, "0"
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], strings.TrimPrefix(text[i+1:], "+")
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	significant := strings.TrimRight(digits, "0")
	power, ok := new(big.Int).SetString(exponent, 10)
	if !ok {
		return text // not a JSON number
	}
	power.Add(power, big.NewInt(int64(len(digits)-len(significant)-len(fraction))))
	sign := ""
	if negative {
		sign = "-"
	}
	return sign + significant + "e" + power.String()
}

// identity is a text that two values share exactly when they are equal: numbers
// by value, strings by code points, objects whatever the order of their keys.
func (n *node) identity() string {
	switch n.shape {
	case nullNode:
		return "null"
	case boolNode:
		return n.text
	case numberNode:
		return decimal(n.text)
	case stringNode:
		return strconv.Quote(n.text)
	case listNode:
		parts := make([]string, len(n.items))
		for i, item := range n.items {
			parts[i] = item.identity()
		}
		return "[" + strings.Join(parts, ",") + "]"
	default:
		parts := make([]string, len(n.pairs))
		for i, p := range n.pairs {
			parts[i] = strconv.Quote(p.key) + ":" + p.value.identity()
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	}
}
