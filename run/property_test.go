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
// submission that was not accepted.
type executed struct {
	c    run.Command
	at   time.Time
	done bool
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
		for i := range rapid.SampledFrom([]int{5, 20, 40}).Draw(t, "commands") {
			now = d.later(now)
			advanceTheSame(t, r, now)
			who, c := d.command()
			c.By = who
			c.RequestID = fmt.Sprintf("q_%d", i)
			c.Digest, c.NotAfter = c.RequestID, now.Add(time.Minute)
			c.Attempt = "t_" + c.RequestID
			d.snapshots = append(d.snapshots, r.Snapshot)
			o, err := carry(t, r, c, now)
			note(seen, c, o, err)
			if err == nil {
				log = append(log, executed{c, now, o.Refusal == nil})
			}
			if o.Claim != nil {
				d.granted = append(d.granted, *o.Claim)
			}
			oldTokensAreStale(t, d, now)
			agentsDecideNothing(t, r, now)
			carried = carryOn(t, carried, c, now)
			require.Equal(t, asJSON(t, r), asJSON(t, carried), "continuing as new changes nothing")
			if r.Over() && rapid.Bool().Draw(t, "enough") {
				break
			}
		}
		shown(t, r)
		require.Equal(t, frozen, asJSON(t, p), "a run pins its version for life (spec §6 rule 5)")
		again := run.New(start, epoch)
		for _, a := range log {
			_, err := again.Execute(a.c, a.at)
			require.Nil(t, err)
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
		for _, want := range []string{"claim", "submit", "decide", "send_event", "submit stale", "state ended", "forked", "history"} {
			require.NotZero(t, seen[want], "the generator never reached: %s", want)
		}
	}
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

func carryOn(t *rapid.T, r *run.Run, c run.Command, now time.Time) *run.Run {
	var again run.Command
	if json.Unmarshal([]byte(sound(c)), &again) != nil {
		again = c // a command with broken JSON cannot be carried itself
	}
	_, _ = r.Execute(again, now)
	return carriedOn(t, r)
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
			require.True(t, g.ExpiresAt.After(now))
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
