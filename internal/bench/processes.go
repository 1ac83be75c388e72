package main

import (
	"fmt"
	"strings"
)

const (
	// pairs is how many steps the measured process has one after the other: a
	// claim and a submission each.
	pairs = 20
	// branches and branchSteps are the shape of the process whose runs many
	// callers work at once.
	branches, branchSteps = 8, 4

	sequenceName, parallelName = "bench-sequence", "bench-parallel"

	inputs = `{"vendorName":"Nordwind Industriebedarf GmbH","amount":48000.50,"country":"DE"}`
	output = `{"cleared":true,"score":0.87,"report":"No entry on any of the lists. The company is registered since 2004, ` +
		`its owners are known, and the bank account belongs to it. One adverse article of 2011, which a court has since corrected."}`
	summary = "Screened against the sanctions lists and the company register; nothing was found."
)

const fields = `{ cleared: boolean, score: number, report: string }`

// sequence is a process of agent steps, one after the other.
func sequence() string {
	var b strings.Builder
	head(&b, sequenceName)
	for i := range pairs {
		next := fmt.Sprintf("s%02d", i+2)
		if i == pairs-1 {
			next = "done"
		}
		step(&b, fmt.Sprintf("s%02d", i+1), next)
	}
	return foot(&b)
}

// parallel is a process whose branches go on independently.
func parallel() string {
	var b strings.Builder
	head(&b, parallelName)
	var entries []string
	for i := range branches {
		entries = append(entries, branchStep(i, 0))
	}
	fmt.Fprintf(&b, "  - id: all\n    parallel: [%s]\n    next: done\n", strings.Join(entries, ", "))
	for i := range branches {
		for j := range branchSteps {
			next := branchStep(i, j+1)
			if j == branchSteps-1 {
				next = "join"
			}
			step(&b, branchStep(i, j), next)
		}
	}
	return foot(&b)
}

func branchStep(branch, n int) string { return fmt.Sprintf("b%d-%d", branch, n+1) }

func head(b *strings.Builder, name string) {
	fmt.Fprintf(b, "---\nname: %s\ndescription: Measured by make bench.\ninputs:\n  vendorName: string\n  amount: number\n  country: string\nsteps:\n", name)
}

func step(b *strings.Builder, id, next string) {
	fmt.Fprintf(b, "  - id: %s\n    agent: Screen the supplier once more, and say what you found.\n    output: %s\n    next: %s\n", id, fields, next)
}

func foot(b *strings.Builder) string {
	b.WriteString("  - id: done\n    finish: screened\n---\nScreen every supplier with care.\n")
	return b.String()
}
