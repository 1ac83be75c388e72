package identity

import (
	"context"
	"slices"
	"time"
)

// Source says where it is known what a person may do.
type Source string

// The sources. Claims are what the token says; Listed is the directory, and a
// person it does not have is nobody; Both adds the two.
const (
	Claims Source = "claims"
	Listed Source = "directory"
	Both   Source = "both"
)

// Policy says how people are known and resolved.
type Policy struct {
	From Source
	// Open takes any well-formed email address as a `person` value; otherwise
	// the directory must have it.
	Open bool
	// AnyGroup lets roles be bound to groups that the directory does not have:
	// those that tokens may bring.
	AnyGroup bool
}

// People is who the organizations know: their directories as they are now, read
// by a policy. It is safe for concurrent use.
type People struct {
	Policy
	// Directories may be nil: then there are none.
	Directories *Registry
}

// PeopleOf knows exactly who is in the directories, and takes what tokens say of
// a person.
func PeopleOf(directories ...*Directory) *People {
	return &People{Policy: Policy{From: Claims}, Directories: NewRegistry(directories...)}
}

// Resolve reports whether a value of type `person` (spec §2.3) names someone of
// the organization.
func (p *People) Resolve(org, person string) bool {
	if p.Open {
		_, ok := NormalizeEmail(person)
		return ok
	}
	d := p.Directories.Directory(org)
	return d != nil && d.Resolve(person)
}

// HasGroup reports whether a role of the organization can be bound to a group.
func (p *People) HasGroup(org, group string) bool {
	if p.AnyGroup {
		return WrongGroup(group) == ""
	}
	d := p.Directories.Directory(org)
	return d != nil && d.HasGroup(group)
}

// known is the caller as the directory of its organization completes it. It is
// [ErrInvalidToken] for a person who must be listed there and is not.
func (p *People) known(c Caller) (Caller, error) {
	d := p.Directories.Directory(c.Org)
	if !c.IsPerson() {
		if d != nil {
			c.Processes = both(c.Processes, d.limits[c.Subject])
		}
		return c, nil
	}
	if p.From == Claims {
		return c, nil
	}
	var listed Entry
	ok := false
	if d != nil {
		listed, ok = d.Person(c.Subject)
	}
	if p.From == Listed {
		if !ok {
			return Caller{}, ErrInvalidToken
		}
		c.Groups, c.Operator, c.Publisher = nil, false, false
	}
	for _, g := range listed.Groups {
		if !slices.Contains(c.Groups, g) {
			c.Groups = append(c.Groups, g)
		}
	}
	c.Operator, c.Publisher = c.Operator || listed.Operator, c.Publisher || listed.Publisher
	return c, nil
}

// both is what two limits allow together; a nil one allows everything.
func both(a, b []string) []string {
	switch {
	case a == nil:
		return slices.Clone(b)
	case b == nil:
		return a
	}
	out := []string{}
	for _, s := range a {
		if slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

// Verifier has callers proved by v, and completes them from the directory as it
// is at that moment.
func (p *People) Verifier(v Verifier) Verifier { return peopleVerifier{p, v} }

type peopleVerifier struct {
	people *People
	next   Verifier
}

func (v peopleVerifier) Verify(ctx context.Context, bearer string) (Caller, time.Time, error) {
	c, until, err := v.next.Verify(ctx, bearer)
	if err != nil {
		return Caller{}, time.Time{}, err
	}
	if c, err = v.people.known(c); err != nil {
		return Caller{}, time.Time{}, err
	}
	return c, until, nil
}
