package conformance

import (
	"fmt"
	"strings"

	"github.com/agentprocess-temporal/server/process"
)

// refusal is a file that no server may publish, and why.
type refusal struct{ id, why, front string }

const tail = `  - { id: end, finish: done }
`

// refusals break one rule each of spec §2. %s is the name of the process.
func refusals() []refusal {
	head := "name: %s\ndescription: Broken on purpose.\n"
	steps := func(s string) string { return head + "steps:\n" + s }
	work := "  - { id: work, agent: Work. }\n"
	return []refusal{
		{"no-name", "name is missing", "description: x\nsteps:\n" + work + tail},
		{"no-description", "description is missing", "name: %s\nsteps:\n" + work + tail},
		{"no-steps", "steps is missing", head},
		{"empty-steps", "there is no step", head + "steps: []\n"},
		{"name-upper", "the name has a capital", "name: X%s\ndescription: x\nsteps:\n" + work + tail},
		{"name-hyphens", "the name has two hyphens together", "name: %s--x\ndescription: x\nsteps:\n" + work + tail},
		{"name-long", "the name is longer than 64", "name: %s-" + strings.Repeat("a", 64) + "\ndescription: x\nsteps:\n" + work + tail},
		{"name-folder", "the folder has another name", "name: %s-other\ndescription: x\nsteps:\n" + work + tail},
		{"unknown-field", "the frontmatter has an unknown field", head + "version: 3\nsteps:\n" + work + tail},
		{"unknown-step-key", "a step has an unknown key", steps("  - { id: work, agent: Work., colour: red }\n" + tail)},
		{"unknown-field-key", "a field has an unknown key", steps("  - { id: work, agent: Work., output: { a: { type: string, default: x } } }\n" + tail)},
		{"duplicate-key", "a key is there twice", head + "description: Again.\nsteps:\n" + work + tail},
		{"duplicate-step-key", "a key of a step is there twice", steps("  - { id: work, agent: Work., agent: Rest. }\n" + tail)},
		{"no-kind", "a step has no kind", steps("  - { id: work, next: end }\n" + tail)},
		{"two-kinds", "a step has two kinds", steps("  - { id: work, agent: Work., wait: 1d }\n" + tail)},
		{"no-id", "a step has no id", steps("  - { agent: Work. }\n" + tail)},
		{"twin-ids", "two steps have one id", steps(work + work + tail)},
		{"id-upper", "an id begins with a capital", steps("  - { id: Work, agent: Work. }\n" + tail)},
		{"id-long", "an id is longer than 64", steps("  - { id: a" + strings.Repeat("b", 64) + ", agent: Work. }\n" + tail)},
		{"next-unknown", "next names no step", steps("  - { id: work, agent: Work., next: nowhere }\n" + tail)},
		{"next-one-route", "a list of routes has one", steps("  - { id: work, agent: Work., next: [end] }\n" + tail)},
		{"next-list-approve", "an approval has a list of routes", steps("  - { id: work, person: boss, approve: Yes?, next: [end, other] }\n" + tail + "  - { id: other, finish: other }\n")},
		{"next-list-wait", "a wait has a list of routes", steps("  - { id: work, wait: 1d, next: [end, other] }\n" + tail + "  - { id: other, finish: other }\n")},
		{"route-key", "a route has an unknown key", steps("  - { id: work, agent: Work., next: [{ to: end, if: x }, other] }\n" + tail + "  - { id: other, finish: other }\n")},
		{"on-reject-unknown", "on_reject names no step", steps("  - { id: work, person: boss, approve: Yes?, on_reject: nowhere }\n" + tail)},
		{"on-reject-agent", "an agent step has on_reject", steps("  - { id: work, agent: Work., on_reject: work }\n" + tail)},
		{"on-timeout-unknown", "on_timeout names no step", steps("  - { id: work, wait_for: x, timeout: 1d, on_timeout: nowhere }\n" + tail)},
		{"timeout-wait", "a wait has a timeout", steps("  - { id: work, wait: 1d, timeout: 1d }\n" + tail)},
		{"finish-next", "a finish has next", steps(work + "  - { id: end, finish: done, next: work }\n")},
		{"last-without-next", "the last step is no finish and names no next", steps("  - { id: a, agent: A., next: b }\n  - { id: end, finish: done }\n  - { id: b, agent: B. }\n")},
		{"unreachable", "a step cannot be reached", steps("  - { id: work, agent: Work., next: end }\n  - { id: lost, agent: Lost., next: end }\n" + tail)},
		{"circle", "next leads in a circle", steps("  - { id: a, agent: A., next: b }\n  - { id: b, agent: B., next: [a, end] }\n" + tail)},
		{"circle-timeout", "on_timeout leads in a circle", steps("  - { id: a, agent: A., next: b }\n  - { id: b, wait_for: x, timeout: 1d, on_timeout: a, next: end }\n" + tail)},
		{"self", "a step leads to itself", steps("  - { id: a, agent: A., next: a }\n" + tail)},
		{"task-no-person", "a task has no person", steps("  - { id: work, task: Work. }\n" + tail)},
		{"approve-no-person", "an approval has no person", steps("  - { id: work, approve: Yes? }\n" + tail)},
		{"agent-person", "an agent step has a person", steps("  - { id: work, agent: Work., person: boss }\n" + tail)},
		{"approve-output", "an approval has output", steps("  - { id: work, person: boss, approve: Yes?, output: { a: string } }\n" + tail)},
		{"wait-evidence", "a wait has evidence", steps("  - { id: work, wait: 1d, evidence: [link] }\n" + tail)},
		{"wait-due", "a wait has a due", steps("  - { id: work, wait: 1d, due: 1d }\n" + tail)},
		{"evidence-kind", "a kind of evidence is unknown", steps("  - { id: work, agent: Work., evidence: [photo] }\n" + tail)},
		{"person-path-unknown", "a person path names no field", steps("  - { id: work, person: inputs.nobody, task: Work. }\n" + tail)},
		{"person-path-type", "a person path names a field that is no person", head + "inputs: { who: string }\nsteps:\n  - { id: work, person: inputs.who, task: Work. }\n" + tail},
		{"person-path-form", "a person path is none", head + "inputs: { who: person }\nsteps:\n  - { id: work, person: data.who, task: Work. }\n" + tail},
		{"until-unknown", "a wait_until path names no field", steps("  - { id: work, wait_until: inputs.when }\n" + tail)},
		{"until-type", "a wait_until path names a field that is no datetime", head + "inputs: { when: date }\nsteps:\n  - { id: work, wait_until: inputs.when }\n" + tail},
		{"duration-word", "a duration is a word", steps("  - { id: work, wait: tomorrow }\n" + tail)},
		{"duration-seconds", "a duration is in seconds", steps("  - { id: work, wait: 30s }\n" + tail)},
		{"duration-two", "a duration has two units", steps("  - { id: work, wait: 1h30m }\n" + tail)},
		{"duration-number", "a duration has no unit", steps("  - { id: work, wait: 30 }\n" + tail)},
		{"duration-fraction", "a duration has a fraction", steps("  - { id: work, agent: Work., due: 1.5h }\n" + tail)},
		{"type-unknown", "a field has a type that is none", head + "inputs: { a: integer }\nsteps:\n" + work + tail},
		{"one-of-type", "one_of holds a value of another type", head + "inputs: { a: { type: number, one_of: [1, two] } }\nsteps:\n" + work + tail},
		{"one-of-yes", "yes is a string in YAML 1.2, and no boolean", head + "inputs: { a: { type: boolean, one_of: [yes] } }\nsteps:\n" + work + tail},
		{"items-type", "the items of a list have a type that is none", head + "inputs: { a: { type: list, items: text } }\nsteps:\n" + work + tail},
		{"optional-text", "optional is no boolean", head + "inputs: { a: { type: string, optional: yes } }\nsteps:\n" + work + tail},
		{"requires-key", "requires has an unknown key", head + "requires: { people: [x] }\nsteps:\n" + work + tail},
		{"requires-name", "requires names a system badly", head + "requires: { systems: [Big System] }\nsteps:\n" + work + tail},
		{"requires-twice", "requires names a system twice", head + "requires: { systems: [a, a] }\nsteps:\n" + work + tail},
		{"event-name", "the name of an event is none", steps("  - { id: work, wait_for: Paid! }\n" + tail)},
		{"bad-yaml", "the frontmatter is no YAML", head + "steps: [\n"},
		{"check-question", "a question has one_of and levels", steps("  - id: work\n    agent: Work.\n    check: [{ ask: What?, one_of: { a: A, b: B }, levels: [x, y], pass: 1 }]\n" + tail)},
		{"check-advisory", "advisory stands alone", steps("  - { id: work, agent: Work., advisory: true }\n" + tail)},
		{"check-approve", "an approval has a check", steps("  - { id: work, person: boss, approve: Yes?, check: Is it? }\n" + tail)},
		{"check-one-choice", "a choice has one answer", steps("  - id: work\n    agent: Work.\n    check: [{ ask: What?, one_of: { a: A }, pass: [a] }]\n" + tail)},
		{"check-levels", "a rubric has eleven levels", steps("  - id: work\n    agent: Work.\n    check: [{ ask: What?, levels: [a, b, c, d, e, f, g, h, i, j, k], pass: 1 }]\n" + tail)},
		{"parallel-one", "a fork has one branch", steps("  - { id: fork, parallel: [a], next: end }\n  - { id: a, agent: A., next: join }\n" + tail)},
		{"parallel-no-next", "a step in a branch names no next", steps("  - { id: fork, parallel: [a, b], next: end }\n  - { id: a, agent: A. }\n  - { id: b, agent: B., next: join }\n" + tail)},
		{"parallel-shared", "two branches share a step", steps("  - { id: fork, parallel: [a, b], next: end }\n  - { id: a, agent: A., next: c }\n  - { id: b, agent: B., next: c }\n  - { id: c, agent: C., next: join }\n" + tail)},
		{"parallel-finish", "a branch leads to a finish", steps("  - { id: fork, parallel: [a, b], next: end }\n  - { id: a, agent: A., next: end }\n  - { id: b, agent: B., next: join }\n" + tail)},
		{"parallel-nested", "a branch holds a fork", steps("  - { id: fork, parallel: [a, b], next: end }\n  - { id: a, parallel: [c, d], next: join }\n  - { id: b, agent: B., next: join }\n  - { id: c, agent: C., next: join }\n  - { id: d, agent: D., next: join }\n" + tail)},
		{"parallel-outside", "a step outside leads into a branch", steps("  - { id: s, agent: S., next: [fork, a] }\n  - { id: fork, parallel: [a, b], next: end }\n  - { id: a, agent: A., next: join }\n  - { id: b, agent: B., next: join }\n" + tail)},
		{"parallel-reject-out", "on_reject leads out of its branch", steps("  - { id: s, agent: S., next: fork }\n  - { id: fork, parallel: [a, b], next: end }\n  - { id: a, person: boss, approve: Yes?, on_reject: s, next: join }\n  - { id: b, agent: B., next: join }\n" + tail)},
		{"parallel-reject-in", "on_reject leads into a branch", steps("  - { id: fork, parallel: [a, b], next: ok }\n  - { id: a, agent: A., next: join }\n  - { id: b, agent: B., next: join }\n  - { id: ok, person: boss, approve: Yes?, on_reject: a, next: end }\n" + tail)},
		{"parallel-join-id", "a step is called join beside a fork", steps("  - { id: fork, parallel: [a, b], next: join }\n  - { id: a, agent: A., next: join }\n  - { id: b, agent: B., next: join }\n  - { id: join, finish: done }\n")},
		{"join-outside", "join is used outside a branch", steps("  - { id: work, agent: Work., next: join }\n" + tail)},
		{"parallel-key", "a fork has output", steps("  - { id: fork, parallel: [a, b], output: { x: string }, next: end }\n  - { id: a, agent: A., next: join }\n  - { id: b, agent: B., next: join }\n" + tail)},
	}
}

func publicationChecks() []Check {
	out := []Check{{
		ID: "publish-good", Clauses: []string{"spec §2", "spec §7", "spec §6"}, Needs: Needs{Publish: true},
		Title: "A file that breaks no rule is published, and listed",
		Run: func(t *T) {
			name := "conformance-" + newID()[:8]
			source := "---\nname: " + name + "\ndescription: Right.\nsteps:\n  - { id: work, agent: Work. }\n" + tail + "---\nBody.\n"
			t.edition(name, source)
			t.listed(t.fixture2(name, source))
		},
	}}
	for _, r := range refusals() {
		clause := "spec §2"
		if strings.HasPrefix(r.id, "parallel") || r.id == "join-outside" {
			clause = "parallel §2"
		} else if strings.HasPrefix(r.id, "check-") {
			clause = "check §2"
		}
		out = append(out, Check{
			ID: "publish-refuses-" + r.id, Clauses: []string{clause, "spec §2.2"}, Needs: Needs{Publish: true},
			Title: "A file is refused when " + r.why,
			Run: func(t *T) {
				name := "refused-" + newID()[:8]
				front := strings.ReplaceAll(r.front, "%s", name)
				source := "---\n" + front + "---\nBody.\n"
				output, err := t.publish(t.ctx, name, []byte(source), rolesOf(front))
				t.True(err != nil, "the publish command succeeded for a file that must be refused, since %s:\n%s\n%s", r.why, source, output)
				for _, listed := range []string{name, "X" + name, name + "--x", name + "-other"} {
					_, there := t.listedAs(t.One, listed)
					t.True(!there, "%s is listed, though it must be refused, since %s", listed, r.why)
				}
			},
		})
	}
	return append(out, Check{
		ID: "publish-needs", Clauses: []string{"spec §4.2", "spec §8"}, Needs: Needs{Publish: true},
		Title: "A process that needs a profile or tool that is not offered is refused",
		Run: func(t *T) {
			tried := 0
			for _, name := range sortedKeys(t.Fixtures) {
				f := t.Fixtures[name]
				why := f.missing(t.Profiles, t.Tools)
				if why == "" {
					continue
				}
				tried++
				_, err := t.publish(t.ctx, name, f.Source, f.Process.Roles())
				t.True(err != nil, "%s was published, but: %s", name, why)
				_, there := t.listedAs(t.One, name)
				t.True(!there, "%s is listed, but: %s", name, why)
			}
			if tried == 0 {
				t.Skip("the server offers all that any fixture needs")
			}
		},
	})
}

// edition publishes a source that must be published.
func (t *T) edition(name, source string) {
	p, issues := process.Parse([]byte(source))
	if len(issues) > 0 {
		t.Fail("the check is wrong: %v", issues)
	}
	output, err := t.publish(t.ctx, name, []byte(source), p.Roles())
	t.True(err == nil, "the publish command failed for %s: %v: %s", name, err, output)
}

func (t *T) fixture2(name, source string) *Fixture {
	p, _ := process.Parse([]byte(source))
	return &Fixture{Name: name, Source: []byte(source), Process: p}
}

func versionChecks() []Check {
	return []Check{{
		ID: "version-pinned", Clauses: []string{"spec §6.5", "tools start_run", "tools list_processes"}, Needs: Needs{Publish: true},
		Title: "A run keeps the version that it started with; a new one gets the next number and is the default",
		Run: func(t *T) {
			name := "edition-" + newID()[:8]
			source := func(n int) string {
				return fmt.Sprintf("---\nname: %s\ndescription: Edition %d.\ninputs: { n%d: { type: number, optional: true } }\nsteps:\n  - { id: work, agent: Work %d., output: { a%d: number } }\n  - { id: end, finish: end-%d }\n---\nBody %d.\n", name, n, n, n, n, n, n)
			}
			first, second := t.fixture2(name, source(1)), t.fixture2(name, source(2))
			t.edition(name, source(1))
			item, ok := t.listedAs(t.One, name)
			t.True(ok, "%s is not listed", name)
			old := t.startEdition(first, item.Int("version"), Args{"n1": 1}, false)
			c := old.Claim(t.One, "work")
			t.edition(name, source(2))
			newer, _ := t.listedAs(t.One, name)
			t.True(newer.Int("version") > item.Int("version"), "the version was %s and is %s after publishing another", item.At("version"), newer.At("version"))
			t.listed(second)
			old.Get()
			c.Submit()
			old.Get()
			run := t.startEdition(second, newer.Int("version"), Args{"n2": 2}, false)
			run.Claim(t.One, "work").Submit()
			again := t.startEdition(first, item.Int("version"), Args{"n1": 3}, true)
			again.Claim(t.One, "work").Submit()
			again.Get()
			t.Refused("invalid", t.One, "start_run", Args{"process": name, "inputs": Args{"n1": 1}})
		},
	}}
}

// startEdition starts a process that was published on the way.
func (t *T) startEdition(f *Fixture, version int64, inputs Args, named bool) *Run {
	m := newModel(f.Process, t.Group)
	m.version, m.startedBy, m.inputs = version, t.One.ID, norm(inputs)
	r := &Run{t: t, m: m, at: map[string]string{}, f: f}
	m.start()
	args := Args{"process": f.Name, "inputs": inputs}
	if named {
		args["version"] = version
	}
	v := t.OK(t.One, "start_run", args)
	r.ID = v.Str("run.id")
	r.see("start_run", v)
	return r
}

// rolesOf are the roles of a broken file: a role that a file lacks is refused by
// itself, which would prove nothing.
func rolesOf(front string) []string {
	if strings.Contains(front, "person: boss") {
		return []string{"boss"}
	}
	return nil
}
