package model_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/faults/model"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
)

const (
	lease  = 6 * time.Second
	source = "---\nname: p\ndescription: d.\nsteps:\n  - { id: work, agent: Do it., next: wait }\n" +
		"  - { id: wait, wait_for: go, next: done }\n  - { id: done, finish: done }\n---\n"
)

var (
	epoch = time.Date(2026, 10, 6, 9, 0, 0, 0, time.UTC)
	ada   = run.Actor{ID: "ada"}
	bob   = run.Actor{ID: "bob"}
)

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

func start(t *testing.T) model.Operation {
	p, issues := process.Parse([]byte(source))
	require.Empty(t, issues)
	return model.Operation{Note: "start", Call: at(0), Return: at(0.1), At: at(0), Start: &run.Start{
		Org: "o", RunID: "r", Process: p, Version: 1, Mode: run.Live, Inputs: json.RawMessage(`{}`), By: ada,
		Limits: run.Limits{RunDataBytes: 128 << 10}, RequestID: "start",
	}}
}

// command is one that lasted from one second to another.
func command(id string, by run.Actor, from, to float64, c run.Command) model.Operation {
	c.RequestID, c.Digest, c.Attempt, c.By, c.NotAfter = id, id, id, by, at(1e6)
	return model.Operation{Note: id, Command: &c, Call: at(from), Return: at(to)}
}

func claim(id string, by run.Actor, from, to float64) model.Operation {
	return command(id, by, from, to, run.Command{Claim: &run.ClaimStep{StepID: "work", Lease: int64(lease.Seconds())}})
}

func granted(o model.Operation, number int64, when float64) model.Operation {
	o.At = at(when)
	o.Claim = &run.Granted{Holder: run.Holder{StepID: "work", Number: number}, ExpiresAt: at(when).Add(lease)}
	return o
}

func refused(o model.Operation, code run.Code, issues ...string) model.Operation {
	o.Refused = run.Refuse(code, "", issues...)
	return o
}

func submit(id string, by run.Actor, from, to, when float64) model.Operation {
	o := command(id, by, from, to, run.Command{Submit: &run.SubmitStep{
		Holder: run.Holder{StepID: "work", Number: 1}, Submission: run.Submission{Output: json.RawMessage(`{}`), Summary: "Did it."},
	}})
	o.At = at(when)
	return o
}

func event(id string, from, to float64, consumedBy string) model.Operation {
	o := command(id, ada, from, to, run.Command{Event: &run.SendEvent{Name: "go"}})
	o.ConsumedBy = consumedBy
	return o
}

func TestWhatCanHaveHappenedAndWhatCannot(t *testing.T) {
	for name, c := range map[string]struct {
		history []model.Operation
		want    bool
	}{
		"one claims, the other is refused": {[]model.Operation{
			granted(claim("a", ada, 1, 2), 1, 1.5), refused(claim("b", bob, 1, 2), run.Conflict, "claimed_by_other"),
		}, true},
		"nobody claims, and one is refused": {[]model.Operation{
			refused(claim("b", bob, 1, 2), run.Conflict, "claimed_by_other"),
		}, false},
		"both claim at once": {[]model.Operation{
			granted(claim("a", ada, 1, 2), 1, 1.2), granted(claim("b", bob, 1, 2), 2, 1.5),
		}, false},
		"the second claims when the lease of the first has ended": {[]model.Operation{
			granted(claim("a", ada, 1, 2), 1, 1.2), granted(claim("b", bob, 7, 8), 2, 7.2),
		}, true},
		"the second claims a moment before": {[]model.Operation{
			granted(claim("a", ada, 1, 2), 1, 1.2), granted(claim("b", bob, 7, 8), 2, 7.199),
		}, false},
		"a claim is granted before it is asked for": {[]model.Operation{
			granted(claim("a", ada, 1, 2), 1, 0.5),
		}, false},
		"a claim that was refused has left a claim": {[]model.Operation{
			refused(claim("a", ada, 1, 2), run.Conflict, "not_ready"),
		}, false},
		"a submission is refused, since another one came between": {[]model.Operation{
			granted(claim("a", ada, 1, 2), 1, 1.5), submit("s", ada, 2, 3, 2.5),
			refused(submit("s2", ada, 3, 4, 0), run.Stale),
		}, true},
		"a submission is lost": {[]model.Operation{
			granted(claim("a", ada, 1, 2), 1, 1.5), submit("s", ada, 2, 3, 2.5),
			refused(claim("b", bob, 4, 5), run.Conflict, "claimed_by_other"),
		}, false},
		"an event is held, and taken when its wait comes": {[]model.Operation{
			granted(claim("a", ada, 1, 2), 1, 1.5), event("e", 1, 3, ""), submit("s", ada, 2, 3, 2.5),
			refused(event("e2", 4, 5, ""), run.Conflict, "run_ended"),
		}, true},
		"an event is consumed twice": {[]model.Operation{
			granted(claim("a", ada, 1, 2), 1, 1.5), submit("s", ada, 2, 3, 2.5), event("e", 4, 5, "wait"), event("e2", 4, 5, "wait"),
		}, false},
	} {
		for i := range c.history {
			if c.history[i].Refused != nil {
				c.history[i].At = time.Time{}
			}
		}
		result := model.Check(append([]model.Operation{start(t)}, c.history...), time.Minute)
		require.Equal(t, c.want, result.Linearizable, name)
		require.False(t, result.GaveUp, name)
		if !c.want {
			require.NotEmpty(t, result.Stuck, name)
		}
	}
}

func TestTheReadAtTheEndShowsTheWholeRun(t *testing.T) {
	p := start(t)
	r := run.New(*p.Start, at(0))
	view := r.View()
	end := model.Operation{Read: true, View: &view, Call: at(9), Return: at(9.1), Note: "read"}
	require.True(t, model.Check([]model.Operation{p, end}, time.Minute).Linearizable)
	lost := granted(claim("a", ada, 8, 8.5), 1, 8.2)
	result := model.Check([]model.Operation{p, lost, end}, time.Minute)
	require.False(t, result.Linearizable, "an acknowledged claim is not in it")
}

func TestWhichOfTwoHeldEventsIsTakenDependsOnTheirOrder(t *testing.T) {
	marked := func(id string) model.Operation {
		o := event(id, 1, 3, "")
		o.Command.Event.Data = json.RawMessage(`{"marker":"` + id + `"}`)
		return o
	}
	writes := []model.Operation{marked("e1"), marked("e2"), granted(claim("a", ada, 4, 5), 1, 4.5), submit("s", ada, 6, 7, 6.5)}
	for name, c := range map[string]struct {
		order []model.Operation
		want  bool
	}{
		"one":     {writes, true},
		"other":   {[]model.Operation{writes[1], writes[0], writes[2], writes[3]}, true},
		"neither": {[]model.Operation{marked("e3"), writes[0], writes[2], writes[3]}, false},
	} {
		s := start(t)
		r := run.New(*s.Start, at(0))
		for i, o := range c.order {
			when := at(1 + float64(i)/10)
			if !o.At.IsZero() {
				when = o.At
			}
			_, err := r.Execute(*o.Command, when)
			require.Nil(t, err, o.Note)
		}
		view := r.View()
		history := append([]model.Operation{s}, writes...)
		history = append(history, model.Operation{Read: true, View: &view, Call: at(9), Return: at(9.1), Note: "read"})
		require.Equal(t, c.want, model.Check(history, time.Minute).Linearizable, name)
	}
}
