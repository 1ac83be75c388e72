package process_test

import (
	"encoding/json"
	"fmt"

	"github.com/agentprocess-temporal/server/process"
)

const leave = `---
name: leave-request
description: Decide on a request for leave. Start it when someone asks.
inputs:
  days: number
  manager: person
steps:
  - id: check
    agent: Look up how many days are left.
    output:
      left: number
      advice: { type: string, one_of: [grant, refuse] }
    next:
      - { to: sign, when: Enough days are left }
      - { to: refused, when: Too few are left }
  - id: sign
    approve: Grant the leave?
    person: inputs.manager
    on_reject: check
    next: granted
  - id: refused
    finish: refused
  - id: granted
    finish: granted
---
Be kind.
`

func ExampleParse() {
	p, issues := process.Parse([]byte(leave))
	fmt.Println(p.Name, len(p.Steps), len(issues))

	_, issues = process.Parse([]byte("---\nname: Leave Request\nsteps:\n  - id: a\n    wait: 3 days\n---\n"))
	fmt.Println(issues)
	// Output:
	// leave-request 4 0
	// 2:1: add description to the frontmatter
	// 2:7: name: "Leave Request" must be 1 to 64 lower-case letters and digits, with single hyphens between them
	// 4:9: step "a": the last step must name next, or be a finish
	// 5:11: step "a": wait: a duration is digits followed by m, h or d, such as 30m, 4h or 3d
}

func ExampleProcess_Mermaid() {
	p, _ := process.Parse([]byte("---\nname: p\ndescription: d\nsteps:\n  - { id: work, agent: Do it. }\n  - { id: done, finish: done }\n---\n"))
	fmt.Print(p.Mermaid())
	// Output:
	// flowchart TD
	//     start(("start"))
	//     s0["work<br/>agent"]:::agent
	//     s1((("done<br/>finish: done"))):::finish
	//     start --> s0
	//     s0 --> s1
	//     classDef agent fill:#e3f2fd,stroke:#1565c0
	//     classDef task fill:#fff8e1,stroke:#ef6c00
	//     classDef approve fill:#fff3e0,stroke:#ef6c00
	//     classDef wait fill:#f5f5f5,stroke:#616161
	//     classDef wait_until fill:#f5f5f5,stroke:#616161
	//     classDef wait_for fill:#f5f5f5,stroke:#616161
	//     classDef finish fill:#e8f5e9,stroke:#2e7d32
	//     classDef parallel fill:#f3e5f5,stroke:#6a1b9a
}

func ExampleFields_Check() {
	p, _ := process.Parse([]byte(leave))
	output := p.Step("check").Output
	for _, issue := range output.Check("output", json.RawMessage(`{"advice":"wait","note":"?"}`)) {
		fmt.Println(issue)
	}
	// Output:
	// output.left: missing
	// output.advice: expected one of grant, refuse
	// output.note: not declared
}

func ExampleProcess_Missing() {
	p, _ := process.Parse([]byte("---\nname: p\ndescription: d\nsteps:\n  - { id: work, agent: Do it., check: Was it done? }\n  - { id: done, finish: done }\n---\n"))
	fmt.Println(p.Missing(nil, []string{"upload", "send_event"}))
	// Output:
	// 5:32: step "work": check needs the profile check-1, which this server does not offer
}
