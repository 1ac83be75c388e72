package run_test

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// checkOrder holds a change against guarantee 1 (spec §6): a step becomes ready
// only at the start, when its predecessor completed into it, when an approval
// was rejected into it, or when a wait timed out into it.
func checkOrder(t require.TestingT, before, after *run.Run) {
	if after.Over() && before != nil {
		return // whatever was opened on the way is closed again
	}
	for i := range after.Steps {
		s := &after.Steps[i]
		if !s.Open() || (before != nil && sameAttempt(stepOf(before, s.ID), s)) {
			continue
		}
		if before == nil && i == 0 {
			continue
		}
		require.True(t, ledTo(before, after, s.ID), "nothing led to step %s", s.ID)
	}
}

// sameAttempt reports whether an open step is the attempt that was open before:
// claimed, lost, escalated, given back.
func sameAttempt(was, is *run.Step) bool {
	return was.Open() && (was.Since.Equal(is.Since) || was.Item == nil || is.Item == nil ||
		was.Item.Escalation != nil || is.Item.Escalation != nil)
}

// ledTo reports whether something that happened between before and after leads
// to a step.
func ledTo(before, after *run.Run, to string) bool {
	for i := range after.Process.Steps {
		step := &after.Process.Steps[i]
		if step.Kind == process.Parallel {
			forked := stepOf(after, step.ID).Order
			if before != nil && stepOf(before, step.ID).Order == forked {
				forked = 0
			}
			if forked != 0 && slices.Contains(step.Branches, to) {
				return true
			}
			if step.Next == to && stepOf(after, step.ID).State == run.StepDone {
				return true
			}
			continue
		}
		was := 0
		if before != nil {
			was = len(recorded(before, step.ID))
		}
		for _, c := range recorded(after, step.ID)[was:] {
			if slices.Contains(leads(step, c), to) {
				return true
			}
		}
	}
	return false
}

// leads lists where a completion of a step can lead.
func leads(step *process.Step, c run.Completion) []string {
	switch {
	case c.Next != "":
		return []string{c.Next}
	case c.Decision == run.Rejected:
		return []string{step.OnReject}
	case c.Decision == run.FailedDecision:
		return nil
	case step.Kind == process.WaitFor && c.By == run.Server && step.OnTimeout != "":
		return []string{step.OnTimeout}
	}
	return []string{step.Next}
}

func inBranch(p *process.Process, id string) bool {
	for i := range p.Steps {
		for _, entry := range p.Steps[i].Branches {
			if slices.Contains(branchFrom(p, entry), id) {
				return true
			}
		}
	}
	return false
}

// branchFrom lists the steps of a branch (parallel §2).
func branchFrom(p *process.Process, id string) []string {
	step := p.Step(id)
	if step == nil {
		return nil // join
	}
	ids := []string{id}
	next := []string{step.Next, step.OnTimeout}
	for _, r := range step.Routes {
		next = append(next, r.To)
	}
	for _, to := range next {
		for _, more := range branchFrom(p, to) {
			if !slices.Contains(ids, more) {
				ids = append(ids, more)
			}
		}
	}
	return ids
}
