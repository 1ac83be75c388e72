package identity

import "slices"

// Kind tells a person from an agent. It is decided by how a caller
// authenticated, never by what the caller says.
type Kind string

// The kinds of caller.
const (
	Agent  Kind = "agent"
	Person Kind = "person"
)

// Caller is who is calling, as the credential proved it.
type Caller struct {
	// Org is the organization; nothing of another one is ever visible.
	Org string `json:"org"`
	// Subject is the id that run data records as `by`: an agent's name, or a
	// person's email address in lower case.
	Subject string `json:"subject"`
	Kind    Kind   `json:"kind"`
	// Groups are the ids of the groups a person belongs to.
	Groups []string `json:"groups,omitempty"`
	// Operator may cancel runs, send events and decides escalated work.
	Operator bool `json:"operator,omitempty"`
	// Publisher may import, bind and publish processes.
	Publisher bool `json:"publisher,omitempty"`
	// Client is the id of the OAuth client that the token was issued to; empty
	// for a token that names none.
	Client string `json:"client,omitempty"`
	// OnBehalfOf is the person whose sign-in an agent uses. It is for the audit
	// log: it gives the agent nothing of what the person may do.
	OnBehalfOf string `json:"onBehalfOf,omitempty"`
	// Processes, unless nil, are the only processes whose steps an agent finds
	// and claims.
	Processes []string `json:"processes,omitzero"`
}

// MayWork reports whether the caller is not kept from the steps of a process by
// a limit of its own.
func (c Caller) MayWork(process string) bool {
	return c.Processes == nil || slices.Contains(c.Processes, process)
}

// clone is a copy that shares no slice with c.
func (c Caller) clone() Caller {
	c.Groups, c.Processes = slices.Clone(c.Groups), slices.Clone(c.Processes)
	return c
}

// IsPerson reports whether the caller authenticated as a human.
func (c Caller) IsPerson() bool { return c.Kind == Person }
