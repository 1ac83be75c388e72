package process

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	datePattern     = regexp.MustCompile(`^([0-9]{4})-([0-9]{2})-([0-9]{2})$`)
	datetimePattern = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))$`)
	localPattern    = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$")
	domainPattern   = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
)

// WellFormedPerson reports whether s has the form of a person: an email address
// in plain ASCII, with a dotted local part of at most 64 characters, a domain of
// at least two labels, and at most 254 characters in all. Quoted local parts,
// comments and address literals are not taken. Whether there is such a person is
// for the organization's directory to say.
func WellFormedPerson(s string) bool {
	i := strings.LastIndexByte(s, '@')
	return i > 0 && i <= 64 && len(s) <= 254 && localPattern.MatchString(s[:i]) && domainPattern.MatchString(s[i+1:])
}

func wellFormedDate(s string) bool {
	_, ok := parseDate(s)
	return ok
}

// parseDate reads `YYYY-MM-DD`, a day that exists.
func parseDate(s string) (time.Time, bool) {
	m := datePattern.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}, false
	}
	t := time.Date(number(m[1]), time.Month(number(m[2])), number(m[3]), 0, 0, 0, 0, time.UTC)
	return t, t.Format("2006-01-02") == s
}

// ParseDatetime reads an RFC 3339 date-time with its offset, in UTC. The letters
// T and Z may be lower-case. A 60th second is taken only where a leap second can
// be, at 23:59:60 UTC, and is the first moment of the next day. Fractions finer
// than a nanosecond are cut off.
func ParseDatetime(s string) (time.Time, bool) {
	m := datetimePattern.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}, false
	}
	day, ok := parseDate(m[1])
	hour, minute, second := number(m[2]), number(m[3]), number(m[4])
	offset := time.Duration(number(m[7]))*time.Hour + time.Duration(number(m[8]))*time.Minute
	if !ok || hour > 23 || minute > 59 || second > 60 || number(m[7]) > 23 || number(m[8]) > 59 {
		return time.Time{}, false
	}
	if m[6] == "-" {
		offset = -offset
	}
	nanos := number((m[5] + "000000000")[:9])
	// The second is added apart, so that a leap second is judged by its minute in UTC.
	t := day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute - offset)
	if second == 60 && (t.Hour() != 23 || t.Minute() != 59) {
		return time.Time{}, false
	}
	return t.Add(time.Duration(second)*time.Second + time.Duration(nanos)), true
}

// number reads a short run of digits; an empty one is zero.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
