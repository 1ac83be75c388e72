package identity

import (
	"fmt"
	"regexp"
	"strings"
)

// OperatorGroup is the id of the operator queue, where escalated work waits
// (spec §3.3). Membership is [Caller.Operator]; no ordinary group has this id.
const OperatorGroup = "operators"

// serverSubject is what run data records as `by` where the server itself
// acted, so no caller may have that name.
const serverSubject = "server"

const maxEmailBytes = 254

var (
	orgPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	agentPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	groupPattern = regexp.MustCompile(`^[A-Za-z0-9/][A-Za-z0-9._:/@-]{0,127}$`)
	// emailPattern is the one browsers use for an email field. The local part
	// is split at its dots, so none leads, trails or follows another.
	emailPattern = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*" +
		"@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$")
)

// What each pattern means, in the words of an issue.
const (
	orgForm   = "1 to 63 letters, digits, '.', '_' or '-', starting with a letter or digit"
	agentForm = "1 to 128 letters, digits, '.', '_' or '-', starting with a letter or digit"
	groupForm = "1 to 128 letters, digits, '.', '_', ':', '/', '@' or '-', starting with a letter, digit or '/'"
)

// NormalizeEmail returns a well-formed ASCII email address of at most 254 bytes
// in lower case; anything else is false. It trims nothing.
func NormalizeEmail(s string) (email string, ok bool) {
	// The pattern comes first: it admits ASCII alone, and lower-casing other
	// letters could make two different addresses one.
	if len(s) > maxEmailBytes || !emailPattern.MatchString(s) {
		return "", false
	}
	return strings.ToLower(s), true
}

// reserved reports whether an ordinary group may not have this id, in any case:
// an id that reads like the operator queue would mislead whoever binds a role.
func reserved(group string) bool { return strings.EqualFold(group, OperatorGroup) }

// processPattern is what a process can be named (spec §2.1).
var processPattern = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

// WrongOrg tells, for whoever reads configuration, what keeps a text from being
// the id of an organization; empty where nothing does. WrongAgent, WrongGroup and
// WrongProcess do the same for names of agents, ids of ordinary groups and names
// of processes.
func WrongOrg(s string) string {
	if !orgPattern.MatchString(s) {
		return "must be " + orgForm
	}
	return ""
}

// WrongAgent is described at [WrongOrg].
func WrongAgent(s string) string {
	switch {
	case !agentPattern.MatchString(s):
		return "must be " + agentForm
	case s == serverSubject:
		return fmt.Sprintf("%q names the server itself in a run's record", s)
	}
	return ""
}

// WrongGroup is described at [WrongOrg].
func WrongGroup(s string) string {
	switch {
	case !groupPattern.MatchString(s):
		return "must be " + groupForm
	case reserved(s):
		return fmt.Sprintf("%q is the operator queue; mark its people with `operator: true`", s)
	}
	return ""
}

// WrongProcess is described at [WrongOrg]; it is of the names of processes.
func WrongProcess(s string) string {
	if len(s) > 64 || !processPattern.MatchString(s) {
		return fmt.Sprintf("%q is not the name of a process", s)
	}
	return ""
}
