package identity

// Assignees returns the keys under which open work may be assigned to the
// caller: "person:" and the email address in lower case, "group:" and the id of
// each group, and the operator queue for an operator. It is nil for an agent,
// and for a person whose subject is no email address: work is decided by people
// the server can name (spec §6 rule 4).
func (c Caller) Assignees() []string {
	email, ok := c.email()
	if !ok {
		return nil
	}
	keys := make([]string, 0, len(c.Groups)+2)
	keys = append(keys, "person:"+email)
	seen := make(map[string]bool, len(c.Groups))
	for _, g := range c.Groups {
		// A group that merely has the name of the operator queue opens nothing.
		if g == "" || reserved(g) || seen[g] {
			continue
		}
		seen[g] = true
		keys = append(keys, "group:"+g)
	}
	if c.Operator {
		keys = append(keys, "group:"+OperatorGroup)
	}
	return keys
}

// MayDecide reports whether the caller may decide an item assigned to a group
// or to a person; exactly one of the two is given, else it is false. It is
// always false for an agent (spec §3.4, §6 rule 4).
func (c Caller) MayDecide(group, person string) bool {
	key := "group:" + group
	if person != "" {
		email, ok := NormalizeEmail(person)
		if !ok || group != "" {
			return false
		}
		key = "person:" + email
	}
	for _, k := range c.Assignees() {
		if k == key {
			return true
		}
	}
	return false
}

func (c Caller) email() (string, bool) {
	if c.Kind != Person {
		return "", false
	}
	return NormalizeEmail(c.Subject)
}
