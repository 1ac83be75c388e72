package run_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/canonical"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// carry executes a command and holds what happened against everything that is
// true of every write.
func carry(t require.TestingT, r *run.Run, c run.Command, now time.Time) (run.Outcome, *run.Error) {
	text := asJSON(t, r)
	refusal := r.Check(c, now)
	require.Equal(t, text, asJSON(t, r), "Check changes nothing")

	twin := r.Clone()
	_, _ = twin.Execute(c, now)
	require.Equal(t, text, asJSON(t, r), "a clone shares nothing that changes")

	before := r.Clone()
	before.Advance(now)
	o, err := r.Execute(c, now)
	require.Equal(t, refusal, err, "Check says what Execute refuses")
	require.Equal(t, asJSON(t, r), asJSON(t, twin), "a clone goes the same way")
	checkState(t, r)
	checkOrder(t, before, r)
	checkHistory(t, before, r)
	checkChange(t, before, r, o, err)
	return o, err
}

// checkChange: what a write, of which before is the advanced state, may change.
func checkChange(t require.TestingT, before, after *run.Run, o run.Outcome, err *run.Error) {
	switch {
	case err != nil || after.Seq == before.Seq:
		require.Equal(t, asJSON(t, before), asJSON(t, after), "a refusal and a replay change nothing")
	case o.Refusal != nil && o.Refusal.Code == run.Retry:
		require.Equal(t, asJSON(t, before.Data), asJSON(t, after.Data), "a check that nobody answers changes nothing")
		require.Len(t, after.Requests, len(before.Requests))
	case o.Refusal != nil:
		require.Equal(t, run.NotAccepted, o.Refusal.Code)
		require.NotEmpty(t, o.Refusal.Issues)
		require.Equal(t, before.Seq+1, after.Seq)
		bare := func(r *run.Run) string {
			c := r.Clone()
			c.Seq = 0
			for i := range c.Steps {
				c.Steps[i].Handoff = nil
			}
			return asJSON(t, c)
		}
		require.Equal(t, bare(before), bare(after), "a submission that is not accepted changes only the handoff (spec §6 rule 3)")
	default:
		require.Equal(t, before.Seq+1, after.Seq, "Seq grows by one with a write")
		require.Len(t, after.Requests, len(before.Requests)+1)
	}
	same := asJSON(t, before.Data) == asJSON(t, after.Data)
	require.Equal(t, same, before.Snapshot == after.Snapshot, "the snapshot changes exactly when run data does (spec §3.4)")
}

// checkHistory: what a step recorded stays, in order (spec §3.1).
func checkHistory(t require.TestingT, before, after *run.Run) {
	for id := range before.Data.Steps {
		was, is := recorded(before, id), recorded(after, id)
		require.GreaterOrEqual(t, len(is), len(was), "step %s lost a completion", id)
		require.Equal(t, was, is[:len(was)], "step %s: the past changed", id)
	}
}

// recorded lists all completions of a step, the current one last.
func recorded(r *run.Run, id string) []run.Completion {
	all := []run.Completion{}
	d := r.Data.Steps[id]
	if d == nil {
		return all
	}
	all = append(all, d.History...)
	if d.Completion != nil && d.By != "" { // else a verdict that waits
		all = append(all, *d.Completion)
	}
	return all
}

// checkState: what is true of a run at any time.
func checkState(t require.TestingT, r *run.Run) {
	open, active := 0, false
	orders := map[int64]bool{}
	items, claims := map[string]bool{}, map[int64]bool{}
	for i := range r.Steps {
		s, step := &r.Steps[i], &r.Process.Steps[i]
		require.Equal(t, step.ID, s.ID)
		checkStep(t, r, s, step)
		if s.Open() && !inBranch(r.Process, s.ID) {
			open++
		}
		active = active || s.State == run.StepReady || s.State == run.StepClaimed
		if s.Order != 0 {
			require.False(t, orders[s.Order], "two steps have the same place in the order")
			require.LessOrEqual(t, s.Order, r.Completions)
			orders[s.Order] = true
		}
		if s.Item != nil {
			require.False(t, items[s.Item.ID], "two items have one id")
			items[s.Item.ID] = true
		}
		if s.Claim != nil {
			require.False(t, claims[s.Claim.Number], "two claims have one number")
			require.LessOrEqual(t, s.Claim.Number, r.Claims)
			claims[s.Claim.Number] = true
		}
	}
	checkBranches(t, r)
	if r.Over() {
		require.Zero(t, open)
		require.Empty(t, r.Held, "held events are discarded (spec §3.6)")
		require.NotNil(t, r.Record.Ended)
		require.True(t, r.NextDeadline().IsZero())
		require.Equal(t, r.State == run.Ended, r.Outcome != nil, "an ended run has an outcome, a cancelled one has none")
	} else {
		require.Equal(t, 1, open, "outside the branches one step is open (spec §6 rule 1)")
		require.Nil(t, r.Record.Ended)
		require.Nil(t, r.Outcome)
		require.Equal(t, active, r.State == run.Active, "a run is active while a step is ready or claimed (spec §3.5)")
		require.Equal(t, !active, r.State == run.Waiting)
	}
	form, err := canonical.JSON([]byte(asJSON(t, r.Data)))
	require.NoError(t, err)
	sum := sha256.Sum256(form)
	require.Equal(t, hex.EncodeToString(sum[:]), r.Snapshot)
	checkViews(t, r)
}

// checkStep: what is true of a step at any time.
func checkStep(t require.TestingT, r *run.Run, s *run.Step, step *process.Step) {
	require.Equal(t, s.State == run.StepClaimed, s.Claim != nil, "step %s: claimed exactly when there is a claim", s.ID)
	if s.Item != nil {
		require.Equal(t, run.StepWaiting, s.State)
	}
	if s.State == run.StepReady || s.State == run.StepClaimed {
		require.Equal(t, process.Agent, step.Kind)
	}
	if s.State == run.StepWaiting {
		switch step.Kind {
		case process.Agent, process.Task, process.Approve:
			require.NotNil(t, s.Item)
		case process.Wait, process.WaitUntil:
			require.NotNil(t, s.Deadline)
		case process.WaitFor:
			require.Equal(t, !step.Timeout.IsZero(), s.Deadline != nil)
			for _, e := range r.Held {
				require.NotEqual(t, step.Event, e.Name, "a waiting step would have consumed the held event (spec §3.6)")
			}
		}
	}
	if !s.Open() {
		bare := run.Step{ID: s.ID, State: s.State, Order: s.Order}
		require.Equal(t, bare, *s, "a step that is not open keeps nothing of an attempt")
	} else {
		require.Equal(t, !step.Due.IsZero(), s.Due != nil, "an open step has a due time exactly when it declares one")
	}
	var c *run.Completion
	if d := r.Data.Steps[s.ID]; d != nil {
		if c = d.Completion; c != nil && c.By == "" {
			checkWaiting(t, r, s, c)
			c = nil
		}
		require.True(t, slices.IsSortedFunc(d.History, func(a, b run.Completion) int { return a.At.Compare(b.At) }))
		require.NotEqual(t, process.Finish, step.Kind, "a finish records nothing")
		require.NotEqual(t, process.Parallel, step.Kind, "a parallel step records nothing")
	}
	checkCurrent(t, r, s, step, c)
}

// checkWaiting: a verdict in run data without a completion is one that waits on a
// person, or did when the run ended (check profile §3).
func checkWaiting(t require.TestingT, r *run.Run, s *run.Step, c *run.Completion) {
	require.Equal(t, run.Completion{Check: c.Check}, *c)
	require.Equal(t, run.Unsure, c.Check.Verdict)
	if r.Over() {
		require.Equal(t, run.StepCancelled, s.State)
		return
	}
	require.Equal(t, c.Check, s.Item.Escalation.Check)
	require.NotNil(t, s.Item.Escalation.Candidate)
}

// checkCurrent: how the state of a step and what it recorded go together.
func checkCurrent(t require.TestingT, r *run.Run, s *run.Step, step *process.Step, c *run.Completion) {
	records := step.Kind != process.Finish && step.Kind != process.Parallel
	switch s.State {
	case run.StepDone:
		require.Equal(t, records, c != nil)
		if c != nil && step.Kind == process.Approve {
			require.True(t, c.Decision == run.Approved || (c.Decision == run.Rejected && r.Over() && step.OnReject == ""), "%s: %s %s", s.ID, c.Decision, asJSON(t, r))
		}
	case run.StepFailed:
		require.NotNil(t, c)
		require.Equal(t, run.FailedDecision, c.Decision)
		require.Equal(t, "failed", *r.Outcome)
	default:
		if c != nil {
			require.Equal(t, run.Rejected, c.Decision, "step %s: only a rejection stays current when its step is not done (spec §3.1)", s.ID)
			require.NotZero(t, s.Order)
		} else if step.Kind != process.Parallel {
			require.Zero(t, s.Order)
		}
	}
	if c == nil {
		return
	}
	require.NotEmpty(t, c.By)
	require.False(t, c.At.IsZero())
	if step.Kind == process.Agent || step.Kind == process.Task {
		if c.Decision == "" {
			require.Empty(t, step.Output.Check("output", c.Output), "what is recorded was accepted (spec §6 rule 3)")
			require.Equal(t, step.Routes != nil, c.Next != "")
			require.Equal(t, step.Routes != nil, c.Reason != "")
			if c.By[0] == 'a' {
				require.NotEmpty(t, c.Summary)
			}
		}
	} else {
		require.Empty(t, c.Summary)
	}
}

// checkBranches: one open step a branch, and only between fork and join.
func checkBranches(t require.TestingT, r *run.Run) {
	for i := range r.Process.Steps {
		fork := &r.Process.Steps[i]
		if fork.Kind != process.Parallel {
			continue
		}
		open := false
		for _, entry := range fork.Branches {
			n := 0
			for _, id := range branchFrom(r.Process, entry) {
				if stepOf(r, id).Open() {
					n++
				}
			}
			require.LessOrEqual(t, n, 1, "branch %s", entry)
			open = open || n == 1
		}
		require.Equal(t, open, stepOf(r, fork.ID).State == run.StepWaiting, "%s waits exactly while a branch is open (parallel §3)", fork.ID)
	}
}

// checkViews: everything there is to see can be written down, and says the same.
func checkViews(t require.TestingT, r *run.Run) {
	v := r.View()
	asJSON(t, v)
	items := 0
	for i := range r.Steps {
		s := &r.Steps[i]
		_, listed := r.AgentWork(s.ID)
		require.Equal(t, s.State == run.StepReady, listed, "get_work lists what is ready")
		if s.Item != nil {
			items++
		}
	}
	require.Len(t, v.WorkItems, items)
	for _, item := range v.WorkItems {
		require.Equal(t, r.Snapshot, item.Snapshot)
		require.Equal(t, r.Snapshot, item.Decide.Arguments.Snapshot)
		_, agents := r.PersonWork(item.ID, ada)
		require.False(t, agents)
	}
	back := &run.Run{}
	text := asJSON(t, r)
	require.NoError(t, json.Unmarshal([]byte(text), back))
	require.Equal(t, text, asJSON(t, back), "a run survives being written down")
}
