package conformance

import (
	"time"

	"github.com/agentprocess-temporal/server/process"
)

// late is how much later than its moment something may be seen.
const late = 20 * time.Second

// poll reads until ok, for as long as d and a margin.
func (t *T) poll(d time.Duration, what string, ok func() bool) {
	deadline := time.Now().Add(d + late)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fail("%s did not happen within %s", what, (d + late).Round(time.Second))
		}
		t.sleep(250 * time.Millisecond)
	}
}

// raw reads the run without holding it to the model.
func (r *Run) raw() V { return r.t.OK(r.t.Two, "get_run", Args{"runId": r.ID}) }

// stateOf is the state of a step in a view.
func stateOf(v V, step string) string {
	for _, s := range v.List("steps") {
		if s.Str("id") == step {
			return s.Str("state")
		}
	}
	return ""
}

// await waits for a wait step to pass, not before its time.
func (r *Run) await(s *mstep) {
	id := s.def.ID
	began := time.Now()
	lasts := time.Duration(s.def.Wait.Minutes) * time.Minute
	if s.def.Kind == process.WaitFor {
		lasts = time.Duration(s.def.Timeout.Minutes) * time.Minute
	}
	r.t.poll(lasts, "the end of the wait "+id, func() bool { return stateOf(r.raw(), id) != "waiting" })
	r.t.True(time.Since(began) > lasts-skew-time.Second, "the wait %s of %s ended after %s", id, lasts, time.Since(began).Round(time.Second))
	if s.def.Kind == process.WaitFor {
		r.m.timeout(s)
	} else {
		r.m.pass(s)
	}
	r.Get()
	// What the server did by itself may take a moment to reach its lists.
	for next, step := range r.m.steps {
		if step.state == "ready" {
			r.t.poll(0, next+" being listed by get_work", func() bool { _, listed := r.find(r.t.One, next); return listed })
		}
	}
}

// expire waits for the lease of a claim to end.
func (c *Claim) expire() {
	at, _ := when(c.View.Str("expiresAt"))
	c.r.t.poll(max(0, time.Until(at)), "the end of the lease", func() bool { return stateOf(c.r.raw(), c.step) == "ready" })
	s := c.r.step(c.step)
	s.state, s.since, s.again = "ready", time.Time{}, true
}

const (
	second = time.Second
	minute = time.Minute
)

// serverNow is the time by the server's clock, as far as its runs show it.
func (t *T) serverNow() time.Time {
	name := t.simplest()
	v := t.OK(t.One, "start_run", Args{"process": name, "inputs": Args{}})
	at, ok := when(v.Str("run.startedAt"))
	t.True(ok, "run.startedAt is %s", v.At("run.startedAt"))
	return at
}
