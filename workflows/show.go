package workflows

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/agentprocess-temporal/server/run"
)

// shown is what the search attributes say of a run.
type shown struct {
	state   string
	steps   []string
	overdue bool
	// size is what steps take as JSON, in bytes.
	size int
}

// Temporal takes 2 KiB of one search attribute, and fails the task of a run that
// sets more. andMore stands for the steps beyond that.
const (
	shownBytes = 1900
	andMore    = "…"
)

// name adds a step, if there is room for its id.
func (s *shown) name(id string) {
	if s.size += len(id) + len(`"",`); s.size <= shownBytes {
		s.steps = append(s.steps, id)
	} else if s.steps[len(s.steps)-1] != andMore {
		s.steps = append(s.steps, andMore)
	}
}

// show brings what operators see in the Temporal UI up to date. Search
// attributes cost an event, so they are written when they change only.
func (w *processRun) show(ctx workflow.Context) { w.showAs(ctx, true) }

// showAs is show; with exact false, the search attribute for the open steps may
// lag while agents hand a run on to each other: writing it costs Temporal half
// as much as the write itself, and the timer of the last lease brings it up to
// date. The details are always exact, and so are the attributes of a run that
// waits.
func (w *processRun) showAs(ctx workflow.Context, exact bool) {
	w.count(ctx)
	workflow.SetCurrentDetails(ctx, Details(w.r))
	now := shown{state: string(w.r.State)}
	for i := range w.r.Steps {
		if s := &w.r.Steps[i]; s.Open() {
			now.name(s.ID)
			now.overdue = now.overdue || s.Overdue
		}
	}
	if !exact && now.state == string(run.Active) && now.state == w.shown.state && now.overdue == w.shown.overdue {
		return
	}
	var updates []temporal.SearchAttributeUpdate
	if now.state != w.shown.state {
		updates = append(updates, AttrState.ValueSet(now.state))
	}
	if !slices.Equal(now.steps, w.shown.steps) {
		if len(now.steps) > 0 {
			updates = append(updates, AttrSteps.ValueSet(now.steps))
		} else {
			updates = append(updates, AttrSteps.ValueUnset())
		}
	}
	if now.overdue != w.shown.overdue {
		updates = append(updates, AttrOverdue.ValueSet(now.overdue))
	}
	w.shown = now
	if len(updates) == 0 {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		workflow.GetLogger(ctx).Error("search attributes not written", "error", err)
	}
}

// shownBefore reads what the run's last workflow run had written.
func shownBefore(ctx workflow.Context) shown {
	attributes := workflow.GetTypedSearchAttributes(ctx)
	var s shown
	s.state, _ = attributes.GetKeyword(AttrState)
	s.steps, _ = attributes.GetKeywordList(AttrSteps)
	s.overdue, _ = attributes.GetBool(AttrOverdue)
	return s
}

// Details is a run as a small Markdown table: which step is at what, who holds
// it or is asked, since when, and until when. No run data is in it.
func Details(r *run.Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** v%d · %s", r.Record.Process, r.Version, r.State)
	if r.Outcome != nil {
		fmt.Fprintf(&b, " · %s", cell(*r.Outcome))
	}
	if r.Mode == run.Test {
		b.WriteString(" · test run")
	}
	b.WriteString("\n\n| Step | State | Who | Since | Until |\n|---|---|---|---|---|\n")
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.State == run.StepNone {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", s.ID, status(s), cell(who(s)), moment(s.Since), until(s))
	}
	return b.String()
}

func status(s *run.Step) string {
	state := string(s.State)
	if s.Claim != nil && !s.Claim.Checking.IsZero() {
		state += ", being checked"
	}
	if s.Item != nil && s.Item.Escalation != nil {
		state += ", escalated"
	}
	if s.Overdue {
		state += ", **overdue**"
	}
	return state
}

func who(s *run.Step) string {
	switch {
	case s.Claim != nil:
		return s.Claim.By
	case s.Item != nil && s.Item.AssignedTo.Person != "":
		return s.Item.AssignedTo.Person
	case s.Item != nil:
		return "group " + s.Item.AssignedTo.Group
	}
	return ""
}

func until(s *run.Step) string {
	switch {
	case s.Claim != nil:
		return "lease " + moment(s.Claim.ExpiresAt)
	case s.Deadline != nil:
		return moment(*s.Deadline)
	case s.Due != nil:
		return "due " + moment(*s.Due)
	}
	return ""
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// breaksOut are the characters with a meaning in a table, and what stands for them.
var breaksOut = strings.NewReplacer("|", "\\|", "\n", " ", "\r", " ", "<", "&lt;", "`", "'", "[", "\\[", "*", "\\*")

// cell keeps text that callers chose from breaking out of its table cell.
func cell(s string) string { return breaksOut.Replace(s) }
