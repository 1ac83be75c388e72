package run_test

import (
	"encoding/json"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// driver draws commands for a run: mostly such as are carried out.
type driver struct {
	t *rapid.T
	r *run.Run
	// granted are all claims there ever were.
	granted []run.Granted
	// snapshots are some there were.
	snapshots []string
}

func pick[T any](t *rapid.T, what string, from ...T) T { return rapid.SampledFrom(from).Draw(t, what) }

func (d *driver) chance(percent int, what string) bool { return chance(d.t, percent, what) }

// chance is true that often. rapid prefers small numbers, so they are spread.
func chance(t *rapid.T, percent int, what string) bool {
	return (rapid.IntRange(0, 99).Draw(t, what)*37+61)%100 < percent
}

// command draws who does what, without the request.
func (d *driver) command() (run.Actor, run.Command) {
	if d.chance(15, "wild") {
		return d.wild()
	}
	var choices []func() (run.Actor, run.Command)
	offer := func(weight int, f func() (run.Actor, run.Command)) {
		for range weight {
			choices = append(choices, f)
		}
	}
	for i := range d.r.Steps {
		s := &d.r.Steps[i]
		switch {
		case s.State == run.StepReady:
			offer(4, func() (run.Actor, run.Command) { return pick(d.t, "agent", ada, bob), claimOf(s.ID) })
		case s.State == run.StepClaimed:
			g := run.Granted{Holder: run.Holder{StepID: s.ID, Number: s.Claim.Number}}
			who := run.Actor{ID: s.Claim.By}
			offer(6, func() (run.Actor, run.Command) { return who, submitOf(g, d.submission(s.ID)) })
			offer(1, func() (run.Actor, run.Command) { return who, renewOf(g, pick(d.t, "progress", "", "Half.", "Most.")) })
			offer(1, func() (run.Actor, run.Command) { return who, escalateOf(g, "Help.") })
		case s.Item != nil:
			offer(6, func() (run.Actor, run.Command) { return d.assigned(s.Item.AssignedTo), d.decision(s) })
		}
	}
	offer(1, func() (run.Actor, run.Command) {
		return pick(d.t, "sender", ada, olga), eventOf(pick(d.t, "event", "paid", "sent", "x"), pick(d.t, "data", "", `{"n":1.0}`))
	})
	if d.chance(1, "cancel") {
		return olga, cancelOf("Stop.")
	}
	return rapid.SampledFrom(choices).Draw(d.t, "choice")()
}

func (d *driver) assigned(a run.Assignment) run.Actor {
	switch {
	case a.Group == run.OperatorGroup:
		return olga
	case a.Group != "":
		return run.Actor{ID: "member@example.com", Person: true, Groups: []string{a.Group}}
	}
	return run.Actor{ID: a.Person, Person: true}
}

// decision draws a decision on an open item, seldom one that ends the run.
func (d *driver) decision(s *run.Step) run.Command {
	c := &run.DecideItem{ItemID: s.Item.ID, Snapshot: d.r.Snapshot}
	switch kind := d.r.Process.Step(s.ID).Kind; {
	case d.chance(2, "fail"):
		c.Decision = run.FailedDecision
	case s.Item.Escalation != nil && d.chance(60, "return"):
		c.Decision = run.ReturnedDecision
	case kind == process.Approve:
		c.Decision = pick(d.t, "verdict", run.Approved, run.Rejected)
		if c.Decision == run.Rejected && d.r.Process.Step(s.ID).OnReject == "" && d.chance(80, "mercy") {
			c.Decision = run.Approved
		}
	default:
		c.Decision = run.Completed
		c.Submission = d.submission(s.ID)
	}
	if c.Decision != run.Completed {
		c.Note = "Because."
	}
	return run.Command{Decide: c}
}

// submission draws a submission for a step, mostly one that is accepted.
func (d *driver) submission(id string) run.Submission {
	step := d.r.Process.Step(id)
	sub := run.Submission{Summary: "Did it."}
	if step.Output != nil {
		out := map[string]any{"n": json.RawMessage(pick(d.t, "number", "1", "1.50", "12345678901234567890.5"))}
		if d.chance(70, "with who") {
			out["who"] = pick(d.t, "who", mira.ID, finn.ID)
		}
		if d.chance(70, "with at") {
			out["at"] = pick(d.t, "at", "2020-01-01T00:00:00Z", "2026-10-06T10:00:00+00:00", "2026-10-07T00:00:00.00001Z")
		}
		sub.Output = json.RawMessage(text(out))
	}
	for range step.Evidence {
		sub.Evidence = append(sub.Evidence, run.Evidence{Kind: process.File, Ref: "f_1"})
		sub.Files = map[string]run.File{"f_1": {SHA256: hash, Intact: true}}
	}
	if step.Routes != nil {
		route := rapid.SampledFrom(step.Routes).Draw(d.t, "route")
		sub.Next, sub.Reason = stringP(route.To), stringP("It helps.")
	}
	if d.chance(15, "spoil") {
		switch rapid.IntRange(0, 4).Draw(d.t, "how") {
		case 0:
			sub.Output = json.RawMessage(pick(d.t, "output", `{"m":1}`, `null`, `{`, `{"n":1,"n":2}`, `{"n":"x"}`))
		case 1:
			sub.Next = stringP(pick(d.t, "next", "", "m0", "nowhere"))
		case 2:
			sub.Files = nil
		case 3:
			sub.Reason = nil
		case 4:
			sub.Refused = []string{"run data: too large"}
		}
	}
	return sub
}

// wild draws anything.
func (d *driver) wild() (run.Actor, run.Command) {
	who := pick(d.t, "who", ada, bob, mira, finn, faye, olga, run.Actor{ID: "a_stranger"})
	step := pick(d.t, "step", "nowhere", "")
	if d.chance(90, "known step") {
		step = rapid.SampledFrom(d.r.Process.Steps).Draw(d.t, "any step").ID
	}
	g := run.Granted{Holder: run.Holder{StepID: step, Number: rapid.Int64Range(0, d.r.Claims+1).Draw(d.t, "claim")}}
	if len(d.granted) > 0 && d.chance(60, "old claim") {
		g = rapid.SampledFrom(d.granted).Draw(d.t, "granted")
	}
	switch rapid.IntRange(0, 6).Draw(d.t, "tool") {
	case 0:
		return who, claimOf(step)
	case 1:
		return who, renewOf(g, "x")
	case 2:
		return who, submitOf(g, d.submission(d.r.Process.Steps[0].ID))
	case 3:
		return who, escalateOf(g, "x")
	case 4:
		c := &run.DecideItem{
			ItemID:   fmt.Sprintf("w_%d", rapid.Int64Range(0, d.r.Items+1).Draw(d.t, "item")),
			Snapshot: pick(d.t, "snapshot", append(d.snapshots, d.r.Snapshot)...),
			Decision: pick(d.t, "decision", run.Approved, run.Rejected, run.ReturnedDecision, run.FailedDecision, run.Completed, ""),
			Note:     "x",
		}
		return who, run.Command{Decide: c}
	case 5:
		return who, eventOf(pick(d.t, "event", "paid", ""), pick(d.t, "data", "[]", "", "{}"))
	}
	return who, run.Command{}
}

// later draws how much time goes by before the next command.
func (d *driver) later(now time.Time) time.Time {
	switch rapid.IntRange(0, 9).Draw(d.t, "time") {
	case 0:
		if next := d.r.NextDeadline(); next.After(now) && next.Year() < 3000 {
			return next
		}
	case 1:
		return now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(d.t, "long")))
	case 2, 3, 4:
		return now.Add(time.Duration(rapid.Int64Range(0, int64(2*time.Minute)).Draw(d.t, "short")))
	}
	return now
}
