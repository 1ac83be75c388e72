package canonical

import "strconv"

// NumberKey returns a text that two JSON numbers share exactly when their
// decimal values are equal: 48000, 48000.0 and 4.8e4 all give 48e3; every zero
// gives 0. The digits are those of the value, all of them, without trailing
// zeros; an exponent follows where it is not zero, however large. The key is
// itself a JSON number. A text that is no JSON number is returned as it is.
//
// Time and space are linear in the text, whatever the exponent says.
func NumberKey(text string) string {
	in := []byte(text)
	if n := numberLength(in); n == 0 || n != len(in) {
		return text
	}
	return string(appendNumberKey(make([]byte, 0, len(in)+4), in))
}

// numberLength is the length of the JSON number at the start of in, or 0.
func numberLength(in []byte) int {
	i := 0
	if i < len(in) && in[i] == '-' {
		i++
	}
	whole := digits(in[i:])
	if whole == 0 || whole > 1 && in[i] == '0' {
		return 0
	}
	i += whole
	if i < len(in) && in[i] == '.' {
		n := digits(in[i+1:])
		if n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(in) && (in[i] == 'e' || in[i] == 'E') {
		i++
		if i < len(in) && (in[i] == '+' || in[i] == '-') {
			i++
		}
		n := digits(in[i:])
		if n == 0 {
			return 0
		}
		i += n
	}
	return i
}

func digits(in []byte) int {
	for i, c := range in {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(in)
}

// appendNumberKey appends the key of a valid JSON number.
func appendNumberKey(dst, text []byte) []byte {
	start := len(dst)
	if text[0] == '-' {
		dst = append(dst, '-')
		text = text[1:]
	}
	n := digits(text)
	whole, fraction, rest := text[:n], []byte(nil), text[n:]
	if len(rest) > 0 && rest[0] == '.' {
		n = digits(rest[1:])
		fraction, rest = rest[1:1+n], rest[1+n:]
	}

	// The value is digits × 10^(exponent - len(fraction)).
	first := len(dst)
	dst = append(dst, whole...)
	dst = append(dst, fraction...)
	shift := int64(-len(fraction))
	last := len(dst)
	for last > first && dst[last-1] == '0' {
		last--
		shift++
	}
	dst = dst[:last]
	lead := first
	for lead < last && dst[lead] == '0' {
		lead++
	}
	if lead == last {
		return append(dst[:start], '0')
	}
	dst = append(dst[:first], dst[lead:]...)

	negative, power := false, []byte(nil)
	if len(rest) > 0 {
		power = rest[1:]
		if power[0] == '-' || power[0] == '+' {
			negative, power = power[0] == '-', power[1:]
		}
	}
	for len(power) > 0 && power[0] == '0' {
		power = power[1:]
	}
	if len(power) > 17 {
		return appendLongExponent(dst, negative, power, shift)
	}
	var exponent int64
	for _, c := range power {
		exponent = exponent*10 + int64(c-'0')
	}
	if negative {
		exponent = -exponent
	}
	if exponent += shift; exponent == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, 'e'), exponent, 10)
}

// appendLongExponent appends ±power + shift for a power of more than 17 digits.
// The shift is smaller than a text can be long, so it never turns the sign.
func appendLongExponent(dst []byte, negative bool, power []byte, shift int64) []byte {
	dst = append(dst, 'e')
	if negative {
		dst = append(dst, '-')
		shift = -shift
	}
	first := len(dst)
	dst = append(append(dst, '0'), power...) // room for a carry
	for i := len(dst) - 1; i >= first && shift != 0; i-- {
		sum := int64(dst[i]-'0') + shift
		digit := (sum%10 + 10) % 10
		dst[i] = byte('0' + digit)
		shift = (sum - digit) / 10
	}
	lead := first
	for lead < len(dst)-1 && dst[lead] == '0' {
		lead++
	}
	return append(dst[:first], dst[lead:]...)
}
