package process

import "strconv"

// String is the duration as a file has it, in the largest unit without a remainder.
func (d Duration) String() string {
	switch m := d.Minutes; {
	case m != 0 && m%(24*60) == 0:
		return strconv.FormatInt(m/(24*60), 10) + "d"
	case m != 0 && m%60 == 0:
		return strconv.FormatInt(m/60, 10) + "h"
	default:
		return strconv.FormatInt(m, 10) + "m"
	}
}

// String is the assignee as the value of `person`; empty for nobody.
func (a *Assignee) String() string {
	switch {
	case a == nil:
		return ""
	case a.Initiator:
		return "initiator"
	case a.Path != nil:
		return a.Path.String()
	}
	return a.Role
}
