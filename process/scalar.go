package process

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// The patterns of the YAML 1.2 core schema (YAML 1.2.2 §10.3.2). Nothing else
// is special: `yes`, `0b1`, `1_000` and dates are strings, `0777` is 777.
var (
	coreNull  = regexp.MustCompile(`^(?:null|Null|NULL|~|)$`)
	coreBool  = regexp.MustCompile(`^(?:true|True|TRUE|false|False|FALSE)$`)
	coreInt   = regexp.MustCompile(`^[-+]?[0-9]+$`)
	coreOctal = regexp.MustCompile(`^0o[0-7]+$`)
	coreHex   = regexp.MustCompile(`^0x[0-9a-fA-F]+$`)
	coreFloat = regexp.MustCompile(`^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$`)
	coreNoNum = regexp.MustCompile(`^(?:[-+]?(?:\.inf|\.Inf|\.INF)|\.nan|\.NaN|\.NAN)$`)
)

// resolve gives a plain scalar its shape and text by the core schema. finite is
// false for a number that a double cannot hold.
func resolve(s string) (shape shape, text string, finite bool) {
	switch {
	case coreNull.MatchString(s):
		return nullNode, "", true
	case coreBool.MatchString(s):
		return boolNode, strings.ToLower(s), true
	case coreOctal.MatchString(s):
		return fromBase(s[2:], 8)
	case coreHex.MatchString(s):
		return fromBase(s[2:], 16)
	case coreInt.MatchString(s), coreFloat.MatchString(s):
		text = jsonNumber(s)
		f, err := strconv.ParseFloat(text, 64)
		return numberNode, text, err == nil && !math.IsInf(f, 0)
	case coreNoNum.MatchString(s):
		return numberNode, "0", false
	}
	return stringNode, s, true
}

func fromBase(digits string, base int) (shape, string, bool) {
	digits = strings.TrimLeft(digits, "0")
	if len(digits) > 400 { // more than a double holds, in either base
		return numberNode, "0", false
	}
	n, ok := new(big.Int).SetString("0"+digits, base)
	if !ok {
		return numberNode, "0", false
	}
	f, _ := new(big.Float).SetInt(n).Float64()
	return numberNode, n.String(), !math.IsInf(f, 0)
}

// jsonNumber changes only what JSON does not allow: a plus sign, zeros in front,
// a decimal point without digits on both sides. All digits stay.
func jsonNumber(s string) string {
	sign := ""
	if s[0] == '-' || s[0] == '+' {
		sign = strings.Trim(s[:1], "+")
		s = s[1:]
	}
	exponent := ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		s, exponent = s[:i], s[i:]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction + exponent
}
