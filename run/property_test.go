package run_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

// executed is a command that was not refused, and when; done unless it was a
// submission that was not accepted, or one whose check only begins.
type executed struct {
	c    run.Command
	at   time.Time
	done bool
	// checking begins a check, answers end it.
	checking bool
	answers  *run.Answers
}

// again does the same to another run.
func (e executed) again(r *run.Run) *run.Error {
	switch {
	case e.checking:
		r.BeginCheck(e.c, e.at)
	case e.answers != nil:
		_, err := r.ExecuteChecked(e.c, *e.answers, e.at)
		return err
	default:
		_, err := r.Execute(e.c, e.at)
		return err
	}
	return nil
}

// TestEveryRunKeepsTheGuarantees drives random runs of random processes, and
// holds every change against the guarantees (spec §6) and the rest of what is
// always true; see checkState and carry.
func TestEveryRunKeepsTheGuarantees(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := parse(t, processText(t))
		frozen := asJSON(t, p)
		in := map[string]any{}
		if rapid.Bool().Draw(t, "who given") {
			in["who"] = finn.ID
		}
		if rapid.Bool().Draw(t, "when given") {
			in["when"] = pick(t, "when", "2020-01-01T00:00:00Z", "2026-10-06T10:00:00Z")
		}
		start := startOf(p, inputs(text(in)), limit(pick(t, "limit", 128<<10, 128<<10, 3000)))
		r := run.New(start, epoch)
		checkState(t, r)
		checkOrder(t, nil, r)

		d := &driver{t: t, r: r, snapshots: []string{""}}
		carried := carriedOn(t, r)
		now := epoch
		var log []executed
		var pending []run.Command // whose check is not answered yet
		for i := range rapid.SampledFrom([]int{5, 20, 40}).Draw(t, "commands") {
			now = d.later(now)
			advanceTheSame(t, r, now)
			who, c := d.command()
			c.By = who
			c.RequestID = fmt.Sprintf("q_%d", i)
			c.Digest, c.NotAfter = c.RequestID, now.Add(time.Minute)
			c.Attempt = "t_" + c.RequestID
			d.snapshots = append(d.snapshots, r.Snapshot)
			e := executed{c: c, at: now}
			var o run.Outcome
			var err *run.Error
			switch {
			case len(pending) > 0 && d.chance(50, "answer"):
				e.c, e.answers = pending[0], d.answers()
				pending = pending[1:]
				o, err = carryChecked(t, r, e.c, *e.answers, now)
			case r.NeedsCheck(c, now):
				e.checking = true
				require.NotNil(t, r.BeginCheck(c, now))
				checkState(t, r)
				pending = append(pending, c)
			default:
				o, err = carry(t, r, c, now)
			}
			if !e.checking {
				note(seen, e.c, o, err)
			}
			e.done = err == nil && o.Refusal == nil && !e.checking
			if err == nil {
				log = append(log, e)
			}
			if o.Claim != nil {
				d.granted = append(d.granted, *o.Claim)
			}
			if seen["held"] += held(r); err == nil && e.answers != nil && o.Refusal == nil {
				for i := range r.Steps {
					if item := r.Steps[i].Item; item != nil && item.Escalation != nil && item.Escalation.Check != nil {
						seen["escalated by a check"]++
					}
				}
			}
			oldTokensAreStale(t, d, now)
			agentsDecideNothing(t, r, now)
			carried = carryOn(t, carried, e)
			require.Equal(t, asJSON(t, r), asJSON(t, carried), "continuing as new changes nothing")
			if r.Over() && rapid.Bool().Draw(t, "enough") {
				break
			}
		}
		shown(t, r)
		require.Equal(t, frozen, asJSON(t, p), "a run pins its version for life (spec §6 rule 5)")
		again := run.New(start, epoch)
		for _, a := range log {
			require.Nil(t, a.again(again))
		}
		again.Advance(now)
		require.Equal(t, asJSON(t, r.Record), asJSON(t, again.Record), "the record is a function of the accepted commands")
		r.Advance(now.Add(time.Hour))
		for _, a := range log {
			if a.done {
				seq := r.Seq
				_, err := carry(t, r, a.c, now.Add(time.Hour))
				require.Nil(t, err)
				require.Equal(t, seq, r.Seq, "a replay changes nothing (spec §4)")
			}
		}
		seen["state "+string(r.State)]++
		for _, j := range r.Judged {
			seen["judged "+string(j.Decided)]++
		}
		for i := range r.Steps {
			if len(recorded(r, r.Steps[i].ID)) > 1 {
				seen["history"]++
			}
			if p.Steps[i].Kind == process.Parallel && r.Steps[i].Order > 0 {
				seen["forked"]++
			}
		}
	})
	if !t.Failed() {
		t.Log(seen)
		for _, want := range []string{"claim", "submit", "decide", "send_event", "submit stale", "submit retry", "held", "escalated by a check", "state ended", "forked", "history"} {
			require.NotZero(t, seen[want], "the generator never reached: %s", want)
		}
	}
}

// held are the claims whose submissions are being checked.
func held(r *run.Run) (n int) {
	for i := range r.Steps {
		if c := r.Steps[i].Claim; c != nil && !c.Checking.IsZero() {
			n++
		}
	}
	return n
}

func note(seen map[string]int, c run.Command, o run.Outcome, err *run.Error) {
	name := c.Tool()
	switch {
	case err != nil:
		name += " " + string(err.Code)
	case o.Refusal != nil:
		name += " " + string(o.Refusal.Code)
	}
	seen[name]++
}

// advanceTheSame: in one go or in many steps, time does the same to a run.
func advanceTheSame(t *rapid.T, r *run.Run, now time.Time) {
	if next := r.NextDeadline(); next.IsZero() || next.After(now) {
		return
	}
	steps := r.Clone()
	from := r.UpdatedAt
	for i := range rapid.IntRange(0, 5).Draw(t, "looks") {
		steps.Advance(from.Add(now.Sub(from) * time.Duration(i+1) / 6))
	}
	steps.Advance(now)
	once := r.Clone()
	require.True(t, once.Advance(now))
	require.Equal(t, asJSON(t, once), asJSON(t, steps))
}

// carriedOn is the run as the next workflow run receives it.
func carriedOn(t *rapid.T, r *run.Run) *run.Run {
	back, p := &run.Run{}, &process.Process{}
	require.NoError(t, json.Unmarshal([]byte(asJSON(t, r)), back))
	require.NoError(t, json.Unmarshal([]byte(asJSON(t, r.Process)), p))
	back.Process = p
	return back
}

func carryOn(t *rapid.T, r *run.Run, e executed) *run.Run {
	var again run.Command
	if json.Unmarshal([]byte(sound(e.c)), &again) == nil { // else a command with broken JSON cannot be carried itself
		e.c = again
	}
	_ = e.again(r)
	return carriedOn(t, r)
}

// carryChecked is carry for a write whose check is answered.
func carryChecked(t *rapid.T, r *run.Run, c run.Command, a run.Answers, now time.Time) (run.Outcome, *run.Error) {
	before := r.Clone()
	before.Advance(now)
	o, err := r.ExecuteChecked(c, a, now)
	checkState(t, r)
	checkOrder(t, before, r)
	checkHistory(t, before, r)
	require.Equal(t, asJSON(t, before.Data) == asJSON(t, r.Data), before.Snapshot == r.Snapshot)
	if err != nil || (o.Refusal != nil) {
		require.Equal(t, asJSON(t, before.Data), asJSON(t, r.Data), "what is refused changes no run data")
	}
	return o, err
}

// answers draws what an evaluator says about a submission.
func (d *driver) answers() *run.Answers {
	if d.chance(15, "silence") {
		return &run.Answers{}
	}
	p := pick(d.t, "p", 0.1, 0.3, 0.5, 0.8, 0.8, 1)
	a := answered(yes(p), named(pick(d.t, "name", "good", "good", "good", "bad", "ugly"), pick(d.t, "confidence", 0.5, 0.9, 1)))
	return &a
}

func sound(c run.Command) string {
	b, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	return string(b)
}

// oldTokensAreStale holds guarantee 2 (spec §6).
func oldTokensAreStale(t *rapid.T, d *driver, now time.Time) {
	live := 0
	for i, g := range d.granted {
		c := submitOf(g, run.Submission{})
		c.By, c.RequestID, c.NotAfter = run.Actor{ID: "a_nobody"}, fmt.Sprintf("probe_%d", i), now
		err := d.r.Check(c, now)
		require.NotNil(t, err)
		switch err.Code {
		case run.Forbidden:
			live++
			require.Equal(t, g.Number, stepOf(d.r, g.StepID).Claim.Number)
			claim := stepOf(d.r, g.StepID).Claim
			require.True(t, claim.ExpiresAt.After(now) || !claim.Checking.IsZero())
		case run.Conflict:
			require.True(t, d.r.Over())
		default:
			require.Equal(t, run.Stale, err.Code)
		}
	}
	claimed := 0
	for i := range d.r.Steps {
		if d.r.Steps[i].Claim != nil {
			claimed++
		}
	}
	require.Equal(t, claimed, live, "a token lives exactly as long as its claim")
}

// agentsDecideNothing holds guarantee 4 (spec §6).
func agentsDecideNothing(t *rapid.T, r *run.Run, now time.Time) {
	for _, item := range r.View().WorkItems {
		for _, d := range item.Decide.Decisions {
			c := run.Command{RequestID: "probe", NotAfter: now, By: run.Actor{ID: finn.ID, Groups: []string{"g_finance", "g_legal"}, Operator: true}}
			c.Decide = &run.DecideItem{ItemID: item.ID, Snapshot: item.Snapshot, Decision: d, Note: "x"}
			require.Equal(t, run.Forbidden, r.Check(c, now).Code)
			c.By.Person = true
			c.Decide.Snapshot = "old"
			require.Equal(t, run.Stale, r.Check(c, now).Code)
		}
	}
}
