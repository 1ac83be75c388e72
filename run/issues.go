package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentprocess-temporal/server/internal/canonical"
	"github.com/agentprocess-temporal/server/process"
)

// object is an object that a caller gave; one left out is an empty one.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// objectIssues says why raw cannot enter run data: whatever does must have one
// meaning, or it could not be hashed. One left out is fine.
func objectIssues(prefix string, raw json.RawMessage) []string {
	if len(raw) == 0 {
		return nil
	}
	var issues []string
	for _, p := range canonical.Problems(raw) {
		switch {
		case p.Path == "":
			issues = append(issues, prefix+": "+p.Text)
		case p.Path[0] == '[':
			issues = append(issues, prefix+p.String())
		default:
			issues = append(issues, prefix+"."+p.String())
		}
	}
	if issues == nil && bytes.TrimLeft(raw, " \t\r\n")[0] != '{' {
		issues = []string{prefix + ": expected object"}
	}
	return issues
}

// fieldIssues says what is wrong with the fields of inputs or of an output
// (spec §2.3). unknown are person values that the directory does not know.
func fieldIssues(fields process.Fields, prefix string, raw json.RawMessage, unknown []string) []string {
	if issues := objectIssues(prefix, raw); len(issues) > 0 {
		return issues
	}
	issues := fields.Check(prefix, raw)
	if len(unknown) == 0 {
		return issues
	}
	for _, p := range fields.Persons(raw) {
		if slices.Contains(unknown, p.Value) {
			issues = append(issues, fmt.Sprintf("%s.%s: no such person", prefix, p.Path))
		}
	}
	return issues
}

// Bounds of the issues that a handoff keeps. The caller has all of them.
const (
	keptIssues     = 50
	keptIssueBytes = 8 << 10
)

// bounded shortens issues to what a handoff keeps.
func bounded(issues []string) []string {
	var kept []string
	size := 0
	for i, issue := range issues {
		size += len(issue)
		if i == keptIssues || size > keptIssueBytes {
			return append(kept, fmt.Sprintf("and %d more", len(issues)-i))
		}
		kept = append(kept, issue)
	}
	return kept
}
