package identity

import (
	"slices"
	"strings"
)

// Directory is who an organization knows. It never changes once read, so it is
// safe for concurrent use; a new file is a new Directory.
type Directory struct {
	org    string
	agents []string
	people []Entry
	byMail map[string]int
	groups map[string]bool
	// limits are the processes of agents that are limited to some.
	limits map[string][]string
}

// Entry is one person of a directory.
type Entry struct {
	// Email is in lower case.
	Email string
	// Groups are in file order.
	Groups    []string
	Operator  bool
	Publisher bool
}

// Org returns the id of the organization.
func (d *Directory) Org() string { return d.org }

// Agents returns the names of the agents, in file order.
func (d *Directory) Agents() []string { return slices.Clone(d.agents) }

// People returns everyone, in file order.
func (d *Directory) People() []Entry {
	people := slices.Clone(d.people)
	for i := range people {
		people[i].Groups = slices.Clone(people[i].Groups)
	}
	return people
}

// Person returns the person with an email address, in any case.
func (d *Directory) Person(email string) (Entry, bool) {
	email, ok := NormalizeEmail(email)
	if !ok {
		return Entry{}, false
	}
	i, ok := d.byMail[email]
	if !ok {
		return Entry{}, false
	}
	e := d.people[i]
	e.Groups = slices.Clone(e.Groups)
	return e, true
}

// Resolve reports whether a value of type `person` (spec §2.3) names someone of
// the directory. The form is an email address, in any case.
func (d *Directory) Resolve(person string) bool {
	_, ok := d.Person(person)
	return ok
}

// HasGroup reports whether a role can be bound to the group: it is declared, or
// someone is in it. The operator queue is no such group.
func (d *Directory) HasGroup(id string) bool { return d.groups[id] }

// Members returns the email addresses of a group, in file order; those of the
// operators for [OperatorGroup].
func (d *Directory) Members(group string) []string {
	if group == OperatorGroup {
		return d.Operators()
	}
	return d.emails(func(e Entry) bool { return slices.Contains(e.Groups, group) })
}

// Operators returns the email addresses of the operators, in file order.
func (d *Directory) Operators() []string {
	return d.emails(func(e Entry) bool { return e.Operator })
}

func (d *Directory) emails(match func(Entry) bool) []string {
	var out []string
	for _, e := range d.people {
		if match(e) {
			out = append(out, e.Email)
		}
	}
	return out
}

// Identities names everyone who can call, such as "agent:a1" and
// "person:mira@example.com": agents first, each in file order.
func (d *Directory) Identities() []string {
	out := make([]string, 0, len(d.agents)+len(d.people))
	for _, a := range d.agents {
		out = append(out, string(Agent)+":"+a)
	}
	for _, e := range d.people {
		out = append(out, string(Person)+":"+e.Email)
	}
	return out
}

// Caller returns the caller that one of [Directory.Identities] stands for.
func (d *Directory) Caller(id string) (Caller, bool) {
	kind, subject, _ := strings.Cut(id, ":")
	switch Kind(kind) {
	case Agent:
		if slices.Contains(d.agents, subject) {
			return Caller{Org: d.org, Subject: subject, Kind: Agent, Processes: slices.Clone(d.limits[subject])}, true
		}
	case Person:
		if e, ok := d.Person(subject); ok {
			return Caller{
				Org: d.org, Subject: e.Email, Kind: Person,
				Groups: e.Groups, Operator: e.Operator, Publisher: e.Publisher,
			}, true
		}
	}
	return Caller{}, false
}
