package conformance

import (
	"path"
	"slices"
	"strings"
)

// Check is one thing that a conforming server does.
type Check struct {
	// ID is a short name, unique, such as `claim-by-two`.
	ID string
	// Clauses are the places in the specification that it holds a server to, such
	// as `spec §3.4` and `tools decide`.
	Clauses []string
	// Title says what it does, as a sentence.
	Title string
	Needs Needs
	Run   func(*T)
}

// Needs are what a check cannot do without. Where a server does not offer it, or
// the configuration does not give it, the check is skipped by name.
type Needs struct {
	// Fixtures are the processes that it starts.
	Fixtures []string
	// Tools are optional tools (spec §4.2).
	Tools []string
	// Profiles are `parallel-1` and `check-1`.
	Profiles []string
	// Publish is set where a process is published on the way.
	Publish bool
	// Other is set where a second organization is needed.
	Other bool
	// Slow checks wait for a minute or two.
	Slow bool
	// Lease checks wait for a lease to end. Where a lease is longer than
	// quickLease, they are slow.
	Lease bool
}

// quickLease is how many seconds a lease may have that is waited for in any run.
const quickLease = 10

// Profile is core, parallel or check: what the check is about.
func (c *Check) Profile() string {
	switch {
	case slices.Contains(c.Needs.Profiles, "check-1"):
		return "check"
	case slices.Contains(c.Needs.Profiles, "parallel-1"):
		return "parallel"
	}
	return "core"
}

// matches tells whether a filter names the check: its id, in which * stands
// for anything, or a clause or the beginning of one, such as `spec §3.4`, `§3`, `tools decide` or `decide`.
func (c *Check) matches(only string) bool {
	only = strings.ToLower(strings.TrimSpace(only))
	if matched, err := path.Match(only, c.ID); only == "" || matched && err == nil {
		return true
	}
	for _, clause := range c.Clauses {
		clause = strings.ToLower(clause)
		_, short, _ := strings.Cut(clause, " ")
		for _, name := range []string{clause, short} {
			if rest, ok := strings.CutPrefix(name, only); ok && (rest == "" || rest[0] == '.' || rest[0] == ' ') {
				return true
			}
		}
	}
	return false
}

// Checks are all checks, those of the fixtures excepted, which are made for the
// set at hand (see walkChecks).
func Checks() []Check {
	return slices.Concat(
		describeChecks(), processChecks(), startChecks(), viewChecks(), workChecks(),
		claimChecks(), leaseChecks(), renewChecks(), uploadChecks(), submitChecks(), acceptanceChecks(),
		escalateChecks(), decideChecks(), decideOrderChecks(), reworkChecks(), cancelChecks(), endChecks(),
		eventChecks(), waitChecks(), replayChecks(), raceChecks(), listRunsChecks(),
		argumentChecks(), fidelityChecks(), isolationChecks(),
		parallelChecks(), checkProfileChecks(), publicationChecks(), versionChecks(),
	)
}
