package main

import (
	"fmt"

	"github.com/agentprocess-temporal/server/process"
)

// directory is who works in the harness's organization.
const directory = `organization: acme
agents: [a1, a2, a3, a4, a5, a6, a7, a8]
people:
  - { email: p1@example.com, groups: [reviewers] }
  - { email: p2@example.com, groups: [reviewers, doers] }
  - { email: p3@example.com, groups: [doers] }
  - { email: p4@example.com, groups: [keepers] }
  - { email: ops@example.com, operator: true, publisher: true }
`

const (
	org    = "acme"
	agents = 8
	people = 3
	boss   = "person:ops@example.com"
)

func agentID(i int) string  { return fmt.Sprintf("agent:a%d", i+1) }
func personID(i int) string { return fmt.Sprintf("person:p%d@example.com", i+1) }

var roles = map[string]string{"reviewer": "reviewers", "doer": "doers", "keeper": "keepers"}

// The processes. Every output, note and event carries a marker: the requestId of
// the call that brought it.
var sources = map[string]string{
	// Evidence, routes, a rejection that leads back, work that is due.
	"review": `---
name: review
description: Draft, and have it approved.
inputs: { marker: string }
steps:
  - id: draft
    agent: Draft it.
    output: { marker: string, score: number }
    evidence: [file]
    next:
      - { to: approve, when: It is good }
      - { to: drop, when: It is not }
  - id: approve
    person: reviewer
    approve: Is it good?
    due: 1m
    on_reject: draft
    next: publish
  - id: publish
    agent: Publish it.
    output: { marker: string }
    next: done
  - { id: drop, finish: dropped }
  - { id: done, finish: published }
---
Drafts go through as many rounds as they need.
`,
	// Branches, timers, events, tasks.
	"fan": `---
name: fan
description: Do several things at once.
inputs: { marker: string, until: datetime }
steps:
  - { id: all, parallel: [left, right, tick], next: gather }
  - id: left
    agent: Do the left part.
    output: { marker: string }
    next: join
  - id: right
    agent: Do the right part.
    output: { marker: string }
    next: check
  - id: check
    person: doer
    task: Check the right part.
    output: { marker: string }
    due: 1m
    next: join
  - { id: tick, wait_until: inputs.until, next: join }
  - id: gather
    agent: Put it together.
    output: { marker: string }
    next: go
  - { id: go, wait_for: go, timeout: 1m, on_timeout: late, next: done }
  - { id: late, finish: late }
  - { id: done, finish: done }
---
All at once.
`,
	// A history so large that the run continues as new, with loops.
	"large": `---
name: large
description: A run with much to carry.
inputs: { marker: string, text: string }
steps:
  - id: work
    agent: Work.
    output: { marker: string }
    next: judge
  - id: judge
    person: reviewer
    approve: Enough?
    on_reject: work
    next: more
  - id: more
    agent: Work on.
    output: { marker: string }
    next: judge2
  - id: judge2
    person: reviewer
    approve: Enough now?
    on_reject: work
    next: done
  - { id: done, finish: done }
---
Round and round.
`,
	// Checks: an update that waits for an activity.
	"checked": `---
name: checked
description: Work that is checked.
inputs: { marker: string }
steps:
  - id: prove
    agent: Prove it.
    output: { marker: string }
    check:
      - { ask: Is it proved? }
      - { ask: How well?, levels: [Badly., Well.], pass: 1 }
    next: again
  - id: again
    agent: Prove it again.
    output: { marker: string }
    check: Is it proved again?
    next: done
  - { id: done, finish: done }
---
Nothing passes unread.
`,
	// Everything that a run can wait for, at once; see kept.go.
	kept: `---
name: kept
description: A run that is in every state.
inputs: { marker: string, until: datetime }
steps:
  - { id: all, parallel: [hold, stuck, ask, tick], next: gather }
  - id: hold
    agent: Hold it.
    output: { marker: string }
    next: join
  - id: stuck
    agent: Get stuck.
    output: { marker: string }
    next: join
  - id: ask
    person: keeper
    approve: May it go on?
    next: join
  - { id: tick, wait_until: inputs.until, next: join }
  - id: gather
    agent: Put it together.
    output: { marker: string }
    next: hear
  - { id: hear, wait_for: go, next: done }
  - { id: done, finish: kept }
---
It stays as it is.
`,
	// Over at once.
	"quick": `---
name: quick
description: One step.
inputs: { marker: string }
steps:
  - id: only
    agent: Do it.
    output: { marker: string }
    next: done
  - { id: done, finish: done }
---
One step.
`,
}

// parsed are the processes as the server parses them.
func parsed() (map[string]*process.Process, error) {
	all := map[string]*process.Process{}
	for name, source := range sources {
		p, issues := process.Parse([]byte(source))
		if len(issues) > 0 {
			return nil, fmt.Errorf("process %s: %w", name, issues)
		}
		all[name] = p
	}
	return all, nil
}
