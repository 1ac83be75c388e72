package run_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// TestEveryInterleaving follows every order in which two agents, two people, a
// clock and an operator can act on a small process, to a depth, and holds every
// state on the way against what is always true. States that differ in times and
// counters only are followed once.
func TestEveryInterleaving(t *testing.T) {
	for _, c := range []struct {
		name, front string
		depth       int
		// atLeast states must be reached: the exploration is not an empty one.
		atLeast int
		cancels bool
	}{
		{"an agent step and its approval", `
steps:
  - { id: draft, agent: A., due: 15m }
  - { id: approve, person: finance, approve: B?, on_reject: draft, due: 5m }
  - { id: done, finish: ok }`, 8, 800, true},
		{"a rejection past another approval", `
steps:
  - { id: draft, agent: A. }
  - { id: first, person: finance, approve: B?, on_reject: draft }
  - { id: second, person: legal, approve: C?, on_reject: first }
  - { id: done, finish: ok }`, 9, 2000, false},
		{"a wait with a timeout, and events before and after", `
steps:
  - { id: ask, agent: A. }
  - { id: answer, wait_for: paid, timeout: 1h, on_timeout: remind }
  - { id: check, person: finance, approve: B?, on_reject: ask, next: done }
  - { id: remind, wait_for: paid, timeout: 1h, on_timeout: late }
  - { id: late, finish: too_late }
  - { id: done, finish: ok }`, 10, 1000, false},
		{"two branches, one with rework, and rework of both", `
steps:
  - { id: fork, parallel: [a, b], next: review }
  - { id: a, agent: A., next: [a2, join] }
  - { id: a2, person: finance, approve: A?, on_reject: a, next: join }
  - { id: b, agent: B., next: join }
  - { id: review, person: legal, approve: C?, on_reject: fork }
  - { id: done, finish: ok }`, 7, 2000, false},
		{"a checked step beside another, and rework of both", `
steps:
  - { id: fork, parallel: [a, b], next: review }
  - { id: a, agent: A., check: [{ ask: So?, fail: 0.5 }], next: join }
  - { id: b, agent: B., next: join }
  - { id: review, person: legal, approve: C?, on_reject: fork }
  - { id: done, finish: ok }`, 7, 2000, true},
	} {
		t.Run(fmt.Sprintf("%s, %d moves deep", c.name, c.depth), func(t *testing.T) {
			w := begin(t, c.front)
			e := &explorer{t: t, seen: map[[32]byte]bool{}, cancels: c.cancels}
			level := []state{{w.r, epoch}}
			for range c.depth {
				level = e.follow(level)
			}
			t.Logf("%d states, %d moves, %d of them refused, %d ends", len(e.seen), e.moves, e.refused, e.ends)
			require.GreaterOrEqual(t, len(e.seen), c.atLeast)
			require.NotZero(t, e.refused)
			require.NotZero(t, e.ends)
		})
	}
}

type state struct {
	r   *run.Run
	now time.Time
}

type explorer struct {
	t                    *testing.T
	seen                 map[[32]byte]bool
	moves, refused, ends int
	cancels              bool
}

// follow makes every move from every state of a level, and returns the states
// that are new.
func (e *explorer) follow(level []state) []state {
	var next []state
	add := func(s state) {
		if key := shape(e.t, s.r); !e.seen[key] {
			e.seen[key] = true
			if s.r.Over() {
				e.ends++
				return
			}
			next = append(next, s)
		}
	}
	for _, s := range level {
		if at := s.r.NextDeadline(); !at.IsZero() {
			r := s.r.Clone()
			require.True(e.t, r.Advance(at))
			checkState(e.t, r)
			checkOrder(e.t, s.r, r)
			checkHistory(e.t, s.r, r)
			e.moves++
			add(state{r, at})
		}
		for i, m := range e.possible(s.r) {
			c := m.c
			c.By, c.RequestID, c.NotAfter = m.by, fmt.Sprintf("q_%d_%d", s.r.Seq, i), s.now
			r := s.r.Clone()
			r.Requests, r.Outbox = nil, nil // not part of what is explored
			var err *run.Error
			switch {
			case m.answers != nil:
				_, err = r.ExecuteChecked(c, *m.answers, s.now)
				checkState(e.t, r)
				checkOrder(e.t, s.r, r)
				checkHistory(e.t, s.r, r)
			case r.NeedsCheck(c, s.now):
				r.BeginCheck(c, s.now)
				checkState(e.t, r)
			default:
				_, err = carry(e.t, r, c, s.now)
			}
			e.moves++
			if err != nil {
				e.refused++
				continue
			}
			add(state{r, s.now})
		}
	}
	return next
}

type move struct {
	by run.Actor
	c  run.Command
	// answers end the check that the command waits for.
	answers *run.Answers
}

// possible are the moves of everyone: also such as will be refused, because
// another holds the step or may decide the item.
func (e *explorer) possible(r *run.Run) []move {
	moves := []move{{by: ada, c: eventOf("paid", "")}}
	if !slices.ContainsFunc(r.Process.Steps, func(s process.Step) bool { return s.Kind == process.WaitFor }) || len(r.Held) > 1 {
		moves = nil
	}
	if e.cancels {
		moves = append(moves, move{by: olga, c: cancelOf("Stop.")})
	}
	for i := range r.Steps {
		s, step := &r.Steps[i], &r.Process.Steps[i]
		switch {
		case s.State == run.StepReady:
			moves = append(moves, move{by: ada, c: claimOf(s.ID)}, move{by: bob, c: claimOf(s.ID)})
		case s.State == run.StepClaimed:
			g := run.Granted{Holder: run.Holder{StepID: s.ID, Number: s.Claim.Number}}
			if !s.Claim.Checking.IsZero() {
				for _, a := range []run.Answers{answered(yes(1)), answered(yes(0)), answered(yes(0.6)), {}} {
					moves = append(moves, move{by: run.Actor{ID: s.Claim.By}, c: submitOf(g, run.Submission{}), answers: &a})
				}
			}
			for _, agent := range []run.Actor{ada, bob} {
				for _, c := range []run.Command{claimOf(s.ID), renewOf(g, "Half."), escalateOf(g, "Help."), submitOf(g, run.Submission{Next: stringP("nowhere")})} {
					moves = append(moves, move{by: agent, c: c})
				}
				for _, sub := range submissions(step) {
					moves = append(moves, move{by: agent, c: submitOf(g, sub)})
				}
			}
		case s.Item != nil:
			moves = append(moves, decisions(r, s, step)...)
		}
	}
	return moves
}

func submissions(step *process.Step) []run.Submission {
	if step.Routes == nil {
		return []run.Submission{{}}
	}
	var all []run.Submission
	for _, route := range step.Routes {
		all = append(all, run.Submission{Next: stringP(route.To), Reason: stringP("x")})
	}
	return all
}

func decisions(r *run.Run, s *run.Step, step *process.Step) []move {
	var moves []move
	take := func(by run.Actor, d run.Decision, note string, sub run.Submission) {
		moves = append(moves, move{by: by, c: run.Command{Decide: &run.DecideItem{ItemID: s.Item.ID, Snapshot: r.Snapshot, Decision: d, Note: note, Submission: sub}}})
	}
	for _, person := range []run.Actor{finn, faye, olga} {
		switch {
		case s.Item.Escalation != nil:
			take(person, run.ReturnedDecision, "Again.", run.Submission{})
			take(person, run.Completed, "", submissions(step)[0])
		case step.Kind == process.Approve:
			take(person, run.Approved, "", run.Submission{})
			take(person, run.Rejected, "No.", run.Submission{})
		default:
			take(person, run.Completed, "", submissions(step)[0])
		}
	}
	take(finn, run.FailedDecision, "Hopeless.", run.Submission{})
	return moves
}

// shape is what a state is apart from times, counters and ids: two states of
// one shape have the same future.
func shape(t require.TestingT, r *run.Run) [32]byte {
	c := r.Clone()
	c.Requests, c.Outbox, c.Notified, c.Judged = nil, nil, 0, nil
	c.Seq, c.Items, c.Claims, c.Completions = 0, 0, 0, 0
	c.Snapshot, c.UpdatedAt = "", time.Time{}
	ranks := []int64{}
	for i := range c.Steps {
		ranks = append(ranks, c.Steps[i].Order)
	}
	slices.Sort(ranks)
	for i := range c.Steps {
		s := &c.Steps[i]
		s.Since = time.Time{}
		s.Order = int64(slices.Index(ranks, s.Order))
		deadline := func(at *time.Time) *time.Time {
			if at == nil {
				return nil
			}
			// What matters of a deadline is how much time is left.
			left := time.Time{}.Add(at.Sub(r.UpdatedAt) + 1000*time.Hour)
			return &left
		}
		s.Due, s.Deadline = deadline(s.Due), deadline(s.Deadline)
		if s.Overdue {
			s.Due = nil
		}
		if s.Claim != nil {
			s.Claim.Number, s.Claim.At = 0, time.Time{}
			if !s.Claim.Checking.IsZero() {
				s.Claim.Checking = epoch
			}
			s.Claim.ExpiresAt = *deadline(&s.Claim.ExpiresAt)
		}
		if s.Item != nil {
			item := *s.Item
			item.ID, item.Since = "", time.Time{}
			if item.Escalation != nil {
				item.Escalation = &run.Escalation{By: item.Escalation.By, Check: timeless(item.Escalation.Check)}
			}
			s.Item = &item
		}
		if s.Handoff != nil {
			s.Handoff.Check = timeless(s.Handoff.Check)
			if s.Handoff.Returned != nil {
				s.Handoff.Returned = &run.Returned{By: s.Handoff.Returned.By}
			}
		}
	}
	for _, d := range c.Data.Steps {
		if d.Completion != nil {
			current := *d.Completion
			current.At, current.Check = time.Time{}, timeless(current.Check)
			d.Completion = &current
		}
		for i := range d.History {
			d.History[i].At, d.History[i].Check = time.Time{}, timeless(d.History[i].Check)
		}
	}
	for i := range c.Held {
		c.Held[i].At = time.Time{}
	}
	if c.Record.Ended != nil {
		ended := *c.Record.Ended
		ended.At = time.Time{}
		c.Record.Ended = &ended
	}
	b, err := json.Marshal(c)
	require.NoError(t, err)
	return sha256.Sum256(b)
}

// timeless is a verdict without its time.
func timeless(v *run.Verdict) *run.Verdict {
	if v == nil {
		return nil
	}
	bare := *v
	bare.At = time.Time{}
	return &bare
}
