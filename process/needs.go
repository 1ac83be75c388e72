package process

import "slices"

// ParallelProfile and CheckProfile are the profiles as `describe` names them.
const (
	ParallelProfile = "parallel-1"
	CheckProfile    = "check-1"
)

// Needs is what a process needs of a server beyond the core and the required
// tools: each place that uses a profile or an optional tool, in file order.
type Needs struct {
	Profiles []Use
	Tools    []Use
}

// Use is one place in a process that needs the profile or tool Name. Line and
// Col are 0 when the process was read from JSON.
type Use struct {
	Name      string
	Line, Col int
	// Step is the id of the step, Key the key in it that brings the need.
	Step, Key string
}

// Needs lists the profiles and optional tools that the process uses (spec §4.2, §8).
func (p *Process) Needs() Needs {
	var n Needs
	for i := range p.Steps {
		s := &p.Steps[i]
		use := func(name, key string) Use {
			pos := p.at[s.ID+" "+key]
			return Use{Name: name, Line: pos.line, Col: pos.col, Step: s.ID, Key: key}
		}
		if s.Kind == Parallel {
			n.Profiles = append(n.Profiles, use(ParallelProfile, "parallel"))
		}
		if len(s.Check) > 0 {
			n.Profiles = append(n.Profiles, use(CheckProfile, "check"))
		}
		if slices.Contains(s.Evidence, File) {
			n.Tools = append(n.Tools, use("upload", "evidence"))
		}
		if s.Kind == WaitFor {
			n.Tools = append(n.Tools, use("send_event", "wait_for"))
		}
	}
	return n
}

// Missing returns an issue for every use of a profile or tool that a server does
// not offer, so that a publisher can refuse the process (spec §4.2, §8).
func (p *Process) Missing(offeredProfiles, offeredTools []string) Issues {
	needs := p.Needs()
	var r report
	add := func(uses []Use, offered []string, what string) {
		for _, u := range uses {
			if !slices.Contains(offered, u.Name) {
				r.add(at{u.Line, u.Col}, "step %s: %s needs the %s %s, which this server does not offer", quote(u.Step), u.Key, what, u.Name)
			}
		}
	}
	add(needs.Profiles, offeredProfiles, "profile")
	add(needs.Tools, offeredTools, "tool")
	return r.issues.sorted()
}

// Roles are the role names that `person` keys use, sorted, each once. All of
// them must be bound to groups before the process is published (spec §7).
func (p *Process) Roles() []string {
	var roles []string
	for i := range p.Steps {
		if a := p.Steps[i].Person; a != nil && a.Role != "" {
			roles = append(roles, a.Role)
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// UsesInitiator reports whether a step is assigned to the person who started
// the run, so that an agent cannot start it (spec §3.4).
func (p *Process) UsesInitiator() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Person != nil && s.Person.Initiator })
}
